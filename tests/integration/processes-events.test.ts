import { connect } from "node:net";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type ProcessEventName, processEventSchemas } from "#api/processes/model/event-schemas.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import { createTools } from "./harness/tools.ts";
import {
  type ErrorBody,
  expectNothingLeft,
  type ProcessesServer,
  read,
  runScript,
  send,
  startProcessesServer,
  submit,
  until,
} from "./processes-server.ts";

let database: TestDatabase;
let server: ProcessesServer;

beforeAll(async () => {
  database = await createTestDatabase();
  const tools = createTools(async () => ({ fine: true }));
  server = await startProcessesServer({ databaseUrl: database.url, slots: 1, tools });
});
afterEach(() => expectNothingLeft(server));
afterAll(async () => {
  await server?.stop();
  await database?.drop();
});

interface ReceivedEvent {
  id: string;
  name: ProcessEventName;
  data: Record<string, unknown>;
}

interface Stream {
  status: number;
  headers: Headers;
  events: ReceivedEvent[];
  /** Resolves when the server has ended the stream. */
  ended: Promise<void>;
  close(): void;
}

/** Reads a stream; every event is checked against its schema. */
async function listen(id: number, lastEventId?: string, of: ProcessesServer = server): Promise<Stream> {
  const quit = new AbortController();
  const response = await fetch(`${of.url}/processes/${id}/events`, {
    headers: {
      accept: "text/event-stream",
      ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }),
    },
    signal: quit.signal,
  });
  const events: ReceivedEvent[] = [];
  const parser = createParser({
    onEvent: ({ id: eventId, event, data }: EventSourceMessage) => {
      const name = event as ProcessEventName;
      const parsed = JSON.parse(data) as Record<string, unknown>;
      processEventSchemas[name].parse(parsed);
      events.push({ id: eventId ?? "", name, data: parsed });
    },
  });
  const ended = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? [])
      parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
  })();
  ended.catch(() => {});
  return { status: response.status, headers: response.headers, events, ended, close: () => quit.abort() };
}

const texts = (events: ReceivedEvent[], name: "stdout" | "stderr") =>
  events
    .filter((event) => event.name === name)
    .map(({ data }) => data.text)
    .join("");
const merged = (events: ReceivedEvent[]) =>
  Object.assign({}, ...events.filter(({ name }) => name === "output").map(({ data }) => data)) as object;
const names = (events: ReceivedEvent[]) => events.map(({ name }) => name);

const SCRIPT = [
  "print one",
  "warn oops",
  'output {"a":1,"b":1}',
  "call s t {}",
  "gate GATE",
  "print two é",
  'output {"b":2}',
  "call s u {}",
  "return 1",
].join("\n");

test("a running process is followed to its end", async () => {
  const id = await submit(server, SCRIPT.replace("GATE", "follow"));
  const stream = await listen(id);
  expect(stream.status).toBe(200);
  expect(stream.headers.get("content-type")).toMatch(/^text\/event-stream/);
  expect(stream.headers.get("cache-control")).toContain("no-store");
  await until("the first half is there", () => names(stream.events).includes("call"));
  expect(stream.events[0]).toMatchObject({ name: "state", data: { state: "running", exitState: null } });
  server.environment.open("follow");
  await stream.ended;
  expect(texts(stream.events, "stdout")).toContain("one\n");
  expect(
    texts(stream.events, "stdout").endsWith("two é\n") || texts(stream.events, "stdout").includes("two é"),
  ).toBe(true);
  expect(texts(stream.events, "stderr")).toBe("oops\n");
  expect(merged(stream.events)).toEqual({ a: 1, b: 2 });
  expect(
    stream.events.filter(({ name }) => name === "call").map(({ data }) => [data.toolId, data.status]),
  ).toEqual([
    ["t", "ok"],
    ["u", "ok"],
  ]);
  expect(stream.events.slice(-2)).toMatchObject([
    { name: "state", data: { state: "idle", exitState: "success", reason: "ok" } },
    { name: "end", data: { state: "idle", exitState: "success", reason: "ok", error: null } },
  ]);
});

test("a finished process replays the same and ends; resuming from any event gives exactly the rest", async () => {
  const id = await submit(server, SCRIPT.replace("GATE", "replay"));
  const live = await listen(id);
  await until("the first half is there", () => names(live.events).includes("call"));
  server.environment.open("replay");
  await live.ended;
  const replay = await listen(id);
  await replay.ended;
  const whole = {
    stdout: texts(replay.events, "stdout"),
    stderr: texts(replay.events, "stderr"),
    output: merged(replay.events),
  };
  expect(whole).toEqual({ stdout: texts(live.events, "stdout"), stderr: "oops\n", output: { a: 1, b: 2 } });
  expect(replay.events.at(-1)).toEqual(live.events.at(-1));
  for (const events of [live.events, replay.events]) {
    for (const [index, event] of events.entries()) {
      if (event.name === "end") continue;
      const resumed = await listen(id, event.id);
      await resumed.ended;
      const all = [...events.slice(0, index + 1), ...resumed.events];
      expect({ stdout: texts(all, "stdout"), stderr: texts(all, "stderr"), output: merged(all) }).toEqual(
        whole,
      );
      expect(all.filter(({ name }) => name === "call")).toHaveLength(2);
      expect(all.filter(({ name }) => name === "end")).toHaveLength(1);
    }
  }
  const complete = await listen(id, replay.events.at(-1)?.id);
  expect(complete.status).toBe(204);
});

test("an event has one level, live, stored and resumed", async () => {
  const id = await submit(
    server,
    "print a\nlevel debug b\nlevel debug c\nprint d\nlevel warn e\nwarn f\ngate levels\nlevel debug g",
  );
  const live = await listen(id);
  await until("the first half is there", () => texts(live.events, "stderr").includes("f"));
  server.environment.open("levels");
  await live.ended;
  const replay = await listen(id);
  await replay.ended;
  const printed = (events: ReceivedEvent[]) =>
    events.flatMap(({ name, data }) =>
      name === "stdout" || name === "stderr" ? [`${name} ${data.level} ${data.text}`] : [],
    );
  const whole = [
    "stdout undefined a\n",
    "stdout debug b\nc\n",
    "stdout undefined d\n",
    "stdout debug g\n",
    "stderr warn e\n",
    "stderr undefined f\n",
  ];
  expect(printed(replay.events)).toEqual(whole);
  for (const [index, { id: eventId }] of replay.events.slice(0, -1).entries()) {
    const resumed = await listen(id, eventId);
    await resumed.ended;
    expect(printed([...replay.events.slice(0, index + 1), ...resumed.events])).toEqual(whole);
  }
  const textOf = (level: unknown) =>
    live.events.flatMap(({ data }) => ("text" in data && data.level === level ? [data.text] : [])).join("");
  expect([textOf("debug"), textOf("warn")]).toEqual(["b\nc\ng\n", "e\n"]);
});

test("resuming in the middle of a run, and after a restart, misses and repeats nothing", async () => {
  const id = await submit(server, SCRIPT.replace("GATE", "resume"));
  const first = await listen(id);
  await until("the first half is there", () => names(first.events).includes("call"));
  first.close();
  await until("nobody listens", () => server.service.health().listeners === 0);
  const second = await listen(id, first.events.at(-1)?.id);
  server.environment.open("resume");
  await second.ended;
  const all = [...first.events, ...second.events];
  expect(texts(all, "stdout")).toContain("one\n");
  expect(texts(all, "stdout").match(/one/g)).toHaveLength(1);
  expect(all.filter(({ name }) => name === "call")).toHaveLength(2);
  await using other = await startProcessesServer({ databaseUrl: database.url });
  const third = await listen(id, first.events.at(-1)?.id, other);
  await third.ended;
  const again = [...first.events, ...third.events];
  expect(texts(again, "stdout")).toBe(texts(all, "stdout"));
  expect(merged(again)).toEqual({ a: 1, b: 2 });
  expect(names(again).filter((name) => name === "end")).toHaveLength(1);
});

test("a queued process is followed from the queue, a second run from its own beginning", async () => {
  const blocker = await submit(server, "gate queue");
  const id = await submit(server, "print run\ngate second");
  const stream = await listen(id);
  await until("queued is told", () => stream.events.length > 0);
  expect(stream.events[0]).toMatchObject({ name: "state", data: { state: "queued" } });
  server.environment.open("queue");
  server.environment.open("second");
  await stream.ended;
  expect(names(stream.events)).toContain("end");
  expect(texts(stream.events, "stdout")).toBe("run\n");
  await read(server, blocker, "?wait=10000");
  await send(server, "POST", `/processes/${id}/signals/run`, { force: true, block: true });
  const rerun = await listen(id, stream.events.at(-1)?.id);
  await rerun.ended;
  expect(texts(rerun.events, "stdout")).toBe("run\n");
});

test("a process that never ran, a killed one and a deleted one end their streams", async () => {
  const never = await submit(server, "print x", { autorun: false });
  const stream = await listen(never);
  await stream.ended;
  expect(stream.events).toMatchObject([
    { name: "state", data: { state: "idle", exitState: null } },
    { name: "end", data: { exitState: null } },
  ]);
  const blocker = await submit(server, "hang");
  const queued = await submit(server, "print x");
  const [following, watching] = [await listen(blocker), await listen(queued)];
  await send(server, "POST", `/processes/${queued}/signals/kill`);
  await watching.ended;
  expect(watching.events.at(-1)).toMatchObject({
    name: "end",
    data: { exitState: "canceled", reason: "killed" },
  });
  await send(server, "POST", `/processes/${blocker}/signals/kill`);
  await following.ended;
  expect(following.events.filter(({ name }) => name === "state").map(({ data }) => data.state)).toContain(
    "terminating",
  );
});

test("large text comes in bounded events", async () => {
  const { id, stdout } = await runScript(server, "flood stdout 300000");
  const stream = await listen(id);
  await stream.ended;
  expect(texts(stream.events, "stdout")).toBe(stdout);
  for (const { name, data } of stream.events) {
    if (name === "stdout") expect(String(data.text).length).toBeLessThanOrEqual(65_536);
  }
});

test("a wrong Last-Event-ID says what was expected", async () => {
  const { id } = await runScript(server, "print x");
  for (const wrong of ["5", "x.y", "00000000.r.1.2.3", "00000000.r.1.2.3.-4", "é"]) {
    const headers = { accept: "text/event-stream", "last-event-id": wrong };
    const answer = await send<ErrorBody>(server, "GET", `/processes/${id}/events`, undefined, { headers });
    expect([wrong, answer.status, answer.body.code]).toEqual([wrong, 400, "invalid_request"]);
    expect(answer.body.error).toContain("3f2a91bc.r.120.0.1.3");
  }
  const empty = await listen(id, "");
  await empty.ended;
  expect(names(empty.events)).toContain("end");
});

test("clients that want something else are told so; wildcards are served", async () => {
  const { id } = await runScript(server, "print x");
  for (const accept of ["application/json", "text/html, application/json;q=0.9", "text/event-stream;q=0"]) {
    const answer = await send<ErrorBody>(server, "GET", `/processes/${id}/events`, undefined, {
      headers: { accept },
    });
    expect([accept, answer.status, answer.body.code]).toEqual([accept, 406, "not_acceptable"]);
  }
  for (const accept of ["*/*", "text/*", "text/html, text/event-stream"]) {
    const answer = await send(server, "GET", `/processes/${id}/events`, undefined, { headers: { accept } });
    expect([accept, answer.status]).toEqual([accept, 200]);
    expect(answer.text).toContain("event: end");
  }
});

test("many clients that go away in the middle leave no listener, and the run goes on", async () => {
  const id = await submit(server, "print x\ngate leave");
  const streams = await Promise.all(Array.from({ length: 50 }, () => listen(id)));
  await until("all listen", () => server.service.health().listeners === 50);
  for (const stream of streams) stream.close();
  await until("nobody listens", () => server.service.health().listeners === 0);
  server.environment.open("leave");
  expect(await read(server, id, "?wait=10000")).toMatchObject({ exitState: "success" });
});

test("a client that reads nothing holds no memory of its own and harms nobody", async () => {
  const { port } = new URL(server.url);
  const id = await submit(
    server,
    'flood stdout 1000000\nflood stderr 1000000\noutput {"big":"x"}\ngate slow',
  );
  const socket = connect(Number(port), "127.0.0.1");
  socket.pause();
  socket.write(
    `GET /processes/${id}/events HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept: text/event-stream\r\n\r\n`,
  );
  await until("it is connected", () => server.service.health().listeners === 1);
  const fast = await listen(id);
  server.environment.open("slow");
  await fast.ended;
  expect(texts(fast.events, "stdout").length).toBeGreaterThanOrEqual(1_000_000);
  socket.destroy();
});

test("events of a server that stops end, and the run is resumed to its stored end", async () => {
  const other = await startProcessesServer({ databaseUrl: database.url });
  const id = await submit(other, "print before\nhang");
  const stream = await listen(id, undefined, other);
  await until("it printed", () => names(stream.events).includes("stdout"));
  await other.stop(0);
  await stream.ended.catch(() => {});
  expect(texts(stream.events, "stdout")).toBe("before\n");
  expect(stream.events.at(-1)).toMatchObject({
    name: "end",
    data: { exitState: "failed", reason: "interrupted" },
  });
});
