/** GET /processes/stream: whoever shows the list hears when to read it anew, and is not told more often than can be read. */
import { createParser } from "eventsource-parser";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import {
  expectNothingLeft,
  type ProcessesServer,
  send,
  startProcessesServer,
  submit,
  until,
} from "./processes-server.ts";

let database: TestDatabase;
let server: ProcessesServer;
beforeAll(async () => {
  database = await createTestDatabase();
  server = await startProcessesServer({ databaseUrl: database.url, slots: 2 });
});
afterEach(() => expectNothingLeft(server));
afterAll(async () => {
  await server?.stop();
  await database?.drop();
});

interface Stream extends Disposable {
  /** Events so far. */
  count(): number;
  hasEnded(): boolean;
}

async function follow(of: ProcessesServer = server): Promise<Stream> {
  const quit = new AbortController();
  const response = await fetch(`${of.url}/processes/stream`, {
    headers: { accept: "text/event-stream" },
    signal: quit.signal,
  });
  expect(response.status).toBe(200);
  let count = 0;
  let hasEnded = false;
  const parser = createParser({
    onEvent: ({ event, data }) => {
      expect([event, data]).toEqual(["changed", "{}"]);
      count += 1;
    },
  });
  const decoder = new TextDecoder();
  void (async () => {
    for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk, { stream: true }));
  })()
    .catch(() => {})
    .finally(() => {
      hasEnded = true;
    });
  return { count: () => count, hasEnded: () => hasEnded, [Symbol.dispose]: () => quit.abort() };
}

test("one that has just connected reads the list at once, and hears of a process that begins and ends", async () => {
  using stream = await follow();
  await until("it is told to read", () => stream.count() === 1);
  const id = await submit(server, 'log "x"');
  await until("what it reads shows the end", async () => {
    const seen = stream.count();
    const { body } = await send<{ processes: { id: number; state: string }[] }>(server, "GET", "/processes");
    const isThere = body.processes.some((one) => one.id === id && one.state === "idle");
    return isThere && seen > 1;
  });
});

test("one that is stored without a run, and one that is deleted, is told", async () => {
  using stream = await follow();
  await until("it is told to read", () => stream.count() === 1);
  const id = await submit(server, 'log "x"', { autorun: false });
  await until("it hears of the process", () => stream.count() === 2);
  await send(server, "DELETE", `/processes/${id}`);
  await until("it hears that it is gone", () => stream.count() === 3);
});

test("many changes are few events", async () => {
  using stream = await follow();
  await until("it is told to read", () => stream.count() === 1);
  const began = performance.now();
  const ids = await Promise.all(Array.from({ length: 40 }, () => submit(server, 'log "x"')));
  await Promise.all(ids.map((id) => send(server, "GET", `/processes/${id}?wait=20000`)));
  await until("it hears of them", () => stream.count() > 1);
  expect(stream.count()).toBeLessThanOrEqual(2 + (performance.now() - began) / 250);
});

test("it is not one that takes something else than events, and ends with the server", async () => {
  const refused = await fetch(`${server.url}/processes/stream`, { headers: { accept: "application/json" } });
  expect(refused.status).toBe(406);
  const other = await startProcessesServer({ databaseUrl: database.url, slots: 1 });
  using stream = await follow(other);
  await other.stop();
  await until("it has ended", stream.hasEnded);
});
