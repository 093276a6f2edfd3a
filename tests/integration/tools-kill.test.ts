/** Runs that end while their calls are under way, in both real environments: the services see their connections close. */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startServer, type TestServer } from "./harness/server.ts";

/** Far below the limit of a call, 30 s, and of a run: nothing but the end of the run closes a connection before. */
const SOON_MS = 10_000;

let slow: Server;
let reached: ServerResponse[] = [];
let closed = 0;
let server: TestServer;

beforeAll(async () => {
  // Never answers; below /part it has begun to.
  slow = createServer((request, response) => {
    response.once("close", () => {
      closed += 1;
    });
    if (request.url?.startsWith("/part")) response.writeHead(200, { "content-type": "application/json" });
    if (request.url?.startsWith("/part")) response.write('{"half":');
    reached.push(response);
  });
  await new Promise<void>((resolve) => slow.listen(0, "127.0.0.1", resolve));
  const { port } = slow.address() as AddressInfo;
  server = await startServer({ environment: { CYRNEL_EGRESS_ALLOW: "127.0.0.1" } });
  const operation = (operationId: string, method: string) => ({
    [method]: { operationId, responses: { 200: { description: "ok" } } },
  });
  const content = JSON.stringify({
    openapi: "3.1.0",
    info: { title: "Slow", version: "1" },
    servers: [{ url: `http://127.0.0.1:${port}` }],
    paths: {
      "/read": operation("read", "get"),
      "/write": operation("write", "post"),
      "/part": operation("part", "get"),
    },
  });
  await ok(server.post("/services", { id: "slow", adapter: "openapi", content }));
  await ok(server.post("/services/slow/enabled", { enabled: true }));
});
afterAll(async () => {
  await server?.close();
  slow?.closeAllConnections();
  slow?.close();
});
afterEach(() => {
  for (const response of reached) response.destroy();
  reached = [];
  closed = 0;
});

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
const ok = async (answer: Promise<{ status: number; text: string; body: any }>) => {
  const { status, text, body } = await answer;
  expect(status, text).toBeLessThan(300);
  return body;
};
const start = async (code: string, timeout: number) =>
  (await ok(server.post("/processes", { code, options: { timeout } }))).id as number;
const untilReached = (count: number) =>
  expect.poll(() => reached.length, { timeout: SOON_MS, interval: 5 }).toBe(count);
const untilClosed = (count: number) =>
  expect.poll(() => closed, { timeout: SOON_MS, interval: 5 }).toBe(count);
const statuses = async (id: number) =>
  (await ok(server.get(`/processes/${id}/calls`))).calls.map(({ status }: { status: string }) => status);

describe.each(["typescript-process", "typescript-ivm"])("%s", (environment) => {
  beforeAll(async () => {
    await ok(server.post(`/modules/${environment}/enabled`, { enabled: true }));
  });

  test("a kill ends calls that wait for an answer, and one whose answer has begun", async () => {
    const id = await start(
      "await Promise.allSettled([tools.slow.read({}), tools.slow.write({}), tools.slow.part({})]); return 1",
      60_000,
    );
    await untilReached(3);
    expect(closed).toBe(0);
    await ok(server.post(`/processes/${id}/signals/kill`));
    await untilClosed(3);
    expect(await ok(server.get(`/processes/${id}?wait=${SOON_MS}`))).toMatchObject({
      exitState: "canceled",
      reason: "killed",
      result: null,
    });
    // They had been sent.
    expect(await statuses(id)).toEqual(["unknown", "unknown", "unknown"]);
    const { records } = await ok(server.get(`/audit?action=tool.call&processId=${id}`));
    const given = { outcome: "unknown", code: "call_unknown" };
    expect(records).toMatchObject([given, given, given]);
    const metrics = (await server.get("/metrics")).text.split("\n");
    const series = metrics.filter((line) => line.includes('service="slow"') && line.includes("_count{"));
    expect(series.filter((line) => line.includes('status="unknown"'))).toHaveLength(3);
    expect(series.filter((line) => line.includes('status="canceled"'))).toEqual([]);
  });

  test("so does a script that throws without waiting for them, and one that runs out of time", async () => {
    const left = await start(
      "void tools.slow.read({}).catch(() => {}); await cyrnel.discoverServices(); throw new Error('over')",
      60_000,
    );
    expect(await ok(server.get(`/processes/${left}?wait=${SOON_MS}`))).toMatchObject({
      exitState: "failed",
      reason: "script_error",
    });
    await untilClosed(reached.length);
    const late = await start("await tools.slow.part({})", 1000);
    expect(await ok(server.get(`/processes/${late}?wait=${SOON_MS}`))).toMatchObject({
      exitState: "timeout",
      error: expect.stringMatching(/while waiting for tools\.slow\.part, line 1\.$/),
    });
    await untilClosed(reached.length);
    expect(await statuses(late)).toEqual(["unknown"]);
    expect(server.server.tools.inFlight).toBe(0);
  });
});
