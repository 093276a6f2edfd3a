/**
 * The first hour of a person with Cyrnel: start it, run the example scripts, follow one while it runs, stop it, start
 * it again and find everything as it was. Nothing is left running afterwards.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  EXAMPLES,
  listScripts,
  ORDERS_KEY,
  readSubmission,
  SHOP_RULES,
  startOrders,
  startShop,
} from "./examples.ts";
import {
  listDescendants,
  listProcesses,
  type RunningProcess,
  type StartedServer,
  startServer,
} from "./started-server.ts";

let dataDirectory: string;
let server: StartedServer;
let shop: Awaited<ReturnType<typeof startShop>>;
let orders: Awaited<ReturnType<typeof startOrders>>["orders"];
/** Responses of the first server for each run, by id. */
const records = new Map<number, unknown>();

beforeAll(async () => {
  dataDirectory = await mkdtemp(path.join(tmpdir(), "cyrnel-first-run-"));
  shop = await startShop();
  server = await startServer(dataDirectory, { CYRNEL_EGRESS_ALLOW: "127.0.0.1" });
  const started = await startOrders();
  orders = started.orders;
  for (const [id, adapter, content] of [
    ["shop", "http", SHOP_RULES],
    ["orders", "openapi", started.document],
  ]) {
    expect((await server.request("POST", "/services", { id, adapter, content })).status).toBe(201);
  }
  const secrets = [{ op: "add", path: "/apiKey", value: ORDERS_KEY }];
  expect((await server.request("PATCH", "/services/orders/secrets", secrets)).status).toBe(200);
  for (const id of ["shop", "orders"]) {
    expect((await server.request("POST", `/services/${id}/enabled`, { enabled: true })).status).toBe(200);
  }
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  shop?.close();
  orders?.kill();
  await rm(dataDirectory, { recursive: true, force: true });
});

/** Ids and start times name processes for ever, so a reused id is not mistaken for a survivor. */
function findSurvivors(before: RunningProcess[]): string[] {
  const alive = new Set(listProcesses().map(({ pid, startTime }) => `${pid}@${startTime}`));
  const survivors = before.filter(({ pid, startTime }) => alive.has(`${pid}@${startTime}`));
  const strangers = listProcesses().filter(({ command }) => command.includes(dataDirectory));
  return [...survivors, ...strangers].map(({ pid, command }) => `${pid} ${command}`);
}

async function waitUntilGone(before: RunningProcess[]): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (findSurvivors(before).length > 0 && Date.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 100));
  expect(findSurvivors(before)).toEqual([]);
}

test("answers on the health route", async () => {
  const answer = await server.request("GET", "/health");
  expect(answer).toMatchObject({ status: 200, body: { status: "ok" } });
});

test("every script of examples/ has an expectation here", () => {
  expect(new Set(EXAMPLES.map(({ file }) => file))).toEqual(new Set(listScripts()));
});

describe.each(["typescript-ivm", "typescript-process"])("runs the example scripts with %s", (environment) => {
  beforeAll(async () => {
    const enabled = await server.request("POST", `/modules/${environment}/enabled`, { enabled: true });
    expect(enabled.status).toBe(200);
  });

  test.each(EXAMPLES)("$file", async (example) => {
    const answer = await server.request("POST", "/processes", { ...readSubmission(example), block: true });
    expect(answer.status).toBe(201);
    expect(answer.headers.get("location")).toBe(`/processes/${answer.body.id}`);
    expect(answer.body).toMatchObject({ state: "idle", environment, ...example.expected });
    records.set(answer.body.id, (await server.request("GET", `/processes/${answer.body.id}`)).body);
  });
});

test("concurrent work takes the time of the slowest, not the sum", async () => {
  const { code } = readSubmission({ file: "parallel-work.ts", expected: {} });
  const { body } = await server.request("POST", "/processes", { code, block: true });
  expect(body.result.elapsedMs).toBeGreaterThanOrEqual(190);
  expect(body.result.elapsedMs).toBeLessThan(550);
});

test("a script is followed while it runs, and the same events come again afterwards", async () => {
  const { code } = readSubmission({ file: "stream-output.ts", expected: {} });
  const { body } = await server.request("POST", "/processes", { code, ref: "followed" });

  async function follow(): Promise<{ event: string; data: unknown; atMs: number }[]> {
    const began = performance.now();
    const answer = await fetch(`${server.origin}/processes/${body.id}/events`, {
      signal: AbortSignal.timeout(60_000),
    });
    expect(answer.headers.get("content-type")).toContain("text/event-stream");
    const events = [];
    const stream = answer.body
      ?.pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream());
    for await (const { event = "message", data } of stream ?? [])
      events.push({ event, data: JSON.parse(data) as unknown, atMs: performance.now() - began });
    return events;
  }

  const live = await follow();
  expect(live.at(-1)?.event).toBe("end");
  const firstOutput = live.find(({ event }) => event === "stdout");
  const end = live.at(-1);
  // Five steps of 100 ms: had everything come at the end, the first line would be as late as the last.
  expect((end?.atMs ?? 0) - (firstOutput?.atMs ?? 0)).toBeGreaterThan(200);
  const kinds = new Set(live.map(({ event }) => event));
  expect(kinds).toEqual(new Set(["state", "stdout", "stderr", "output", "end"]));

  const replayed = await follow();
  const text = (events: typeof live) =>
    JSON.stringify(events.filter(({ event }) => event === "stdout").map(({ data }) => data));
  expect(text(replayed)).toContain("write the report");
  expect(replayed.at(-1)?.event).toBe("end");
  records.set(body.id, (await server.request("GET", `/processes/${body.id}`)).body);
});

test("stops on SIGTERM and leaves nothing running", async () => {
  const before = listDescendants(server.pid);
  expect(before.some(({ command }) => command.includes("postgres"))).toBe(true);
  await server.stop("SIGTERM");
  expect(server.log()).toContain("SIGTERM: stopping");
  await waitUntilGone(before);
});

test("started again on the same folder it knows every process as it was", async () => {
  server = await startServer(dataDirectory);
  expect(records.size).toBe(2 * EXAMPLES.length + 1);
  for (const [id, record] of records)
    expect((await server.request("GET", `/processes/${id}`)).body).toEqual(record);
  const list = await server.request("GET", "/processes?limit=200");
  const ids = list.body.processes.map(({ id }: { id: number }) => id);
  for (const id of records.keys()) expect(ids).toContain(id);
  const { body } = await server.request("POST", "/processes", { code: "return 1", block: true });
  expect(body.id).toBeGreaterThan(Math.max(...records.keys()));
});

test("a process of the first start can be run again", async () => {
  const { body } = await server.request("GET", "/processes?ref=followed");
  const id: number = body.processes[0].id;
  const again = await server.request("POST", `/processes/${id}/signals/run`, { force: true, block: true });
  expect(again).toMatchObject({ status: 200, body: { id, exitState: "success", output: { progress: 100 } } });
});

test("Ctrl-C in the terminal stops it in order, with a run in progress", async () => {
  const { body } = await server.request("POST", "/processes", {
    code: "console.log('working'); await new Promise((resolve) => setTimeout(resolve, 1500)); return 'done';",
  });
  const before = listDescendants(server.pid);
  await server.stop("SIGINT");
  expect(server.log()).toContain("SIGINT: stopping");
  expect(server.log()).not.toContain("again");
  await waitUntilGone(before);

  server = await startServer(dataDirectory);
  const record = await server.request("GET", `/processes/${body.id}`);
  expect(record.body).toMatchObject({ state: "idle", exitState: "success", result: "done" });
});
