/** `GET /logs/stream` of a real server: what is logged arrives, once, in order, and resumes where a client left off. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLogRing } from "#api/observe/logs/ring.ts";
import { createLogs } from "#api/observe/logs/service.ts";
import { createRedactor } from "#api/secrets/redactor.ts";
import { startServer, type TestServer } from "../harness/server.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

interface StreamEvent {
  id: string;
  event: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into records of every shape
  data: any;
}

/** Reads events until `enough` says so. */
async function collect(
  query: string,
  enough: (events: StreamEvent[]) => boolean,
  meanwhile: () => Promise<unknown> = async () => {},
  headers: Record<string, string> = {},
): Promise<StreamEvent[]> {
  const gone = new AbortController();
  const response = await fetch(`${server.url}/logs/stream?${query}`, { headers, signal: gone.signal });
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  const acting = meanwhile();
  const events: StreamEvent[] = [];
  let text = "";
  while (!enough(events)) {
    const { value, done } = await reader.read();
    if (done) throw new Error("the stream ended");
    text += decoder.decode(value, { stream: true });
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const [, id, event, data] = /^id: (.+)\nevent: (.+)\ndata: (.+)$/.exec(block) ?? [];
      if (id && event && data) events.push({ id, event, data: JSON.parse(data) });
    }
  }
  gone.abort();
  await acting;
  return events;
}

const request = (id: string) => server.get("/policies", { "x-request-id": id });

test("brings what fits the filter, as it is logged", async () => {
  const events = await collect(
    "type=request&requestId=wanted",
    (seen) => seen.length === 1,
    async () => {
      for (const id of ["other", "wanted", "another"]) await request(id);
    },
  );
  expect(events).toMatchObject([
    { event: "log", data: { requestId: "wanted", fields: { route: "/policies", status: 200 } } },
  ]);
  expect(events[0]?.id).toBe(events[0]?.data.id);
});

test("goes on after the id of any record, also one of a list, without loss or repetition", async () => {
  await request("before-stream");
  const [last] = (await server.get("/logs?requestId=before-stream")).body.logs;
  for (let n = 0; n < 20; n += 1) await request(`number-${n}`);
  const events = await collect("query=number-", (seen) => seen.length >= 20, undefined, {
    "last-event-id": last.id,
  });
  expect(events.map(({ data }) => data.requestId)).toEqual(
    Array.from({ length: 20 }, (_, n) => `number-${n}`),
  );
});

test("tells a client that comes back too late, or from another server, that it missed some", async () => {
  for (const id of ["0123456789ab.5", "nonsense", "999"]) {
    const events = await collect("", (seen) => seen.length > 1, undefined, { "last-event-id": id });
    expect(events[0]).toMatchObject({ event: "reset" });
    // Then everything that is kept.
    expect(events[1]?.event).toBe("log");
  }
});

test("a follower that is slower than the log is told so and never holds more than the log does", async () => {
  const ring = createLogRing({ maxRecords: 10, maxCharacters: 100_000 });
  using logs = createLogs({ ring, redactor: createRedactor() });
  const gone = new AbortController();
  const events = logs.follow({}, null, gone.signal);
  await events.next();
  ring.add('{"msg":"first"}');
  expect((await events.next()).value).toContain("first");
  for (let n = 0; n < 1000; n += 1) ring.add(`{"msg":"line ${n}"}`);
  expect((await events.next()).value).toMatch(/^id: \S+\nevent: reset\ndata: \{\}\n\n$/);
  const rest = String((await events.next()).value);
  expect(rest.match(/"message":"line \d+"/g)).toHaveLength(10);
  gone.abort();
  expect((await events.next()).done).toBe(true);
});

test("so many clients may follow and no more; one that goes makes room", async () => {
  const logs = createLogs({ ring: createLogRing(), redactor: createRedactor() });
  const clients = Array.from({ length: 100 }, () => new AbortController());
  const open = clients.map(({ signal }) => logs.follow({}, null, signal));
  expect(() => logs.follow({}, null, new AbortController().signal)).toThrow(
    expect.objectContaining({ code: "too_many_streams", status: 429 }),
  );
  // Nobody had read from it yet.
  clients[0]?.abort();
  const next = logs.follow({}, null, new AbortController().signal);
  logs[Symbol.dispose]();
  for (const events of [...open, next]) for await (const _text of events);
});

test("ends when the server stops", async () => {
  await using other = await startServer();
  const response = await fetch(`${other.url}/logs/stream`);
  const ended = response.text().catch(() => "cut");
  await other.stop();
  expect(await ended).not.toContain("event: reset");
});
