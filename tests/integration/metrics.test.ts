/** `GET /metrics` of a real server: what Prometheus reads after some runs, and what nobody can make it hold. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLabelBound } from "#api/observe/metrics.ts";
import { startServer, type TestServer } from "./harness/server.ts";

const KEY = "metrics-test-key-0123456789abcdef";
let server: TestServer;

beforeAll(async () => {
  server = await startServer({ environment: { CYRNEL_API_KEY: KEY } });
});
afterAll(() => server.close());

/** Series by name and labels. */
async function scrape(): Promise<Map<string, number>> {
  const { status, text, headers } = await server.get("/metrics");
  expect(status).toBe(200);
  expect(headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ")))]),
  );
}

const run = (code: string, options = {}) => server.post("/processes", { code, block: true, options });

test("needs a key with the scope logs:read", async () => {
  expect((await fetch(`${server.url}/metrics`)).status).toBe(401);
});

test("shows a reason for ending a run before the first, so that an alert sees that one", async () => {
  expect((await scrape()).get('cyrnel_run_kills_total{reason="sandbox_violation"}')).toBe(0);
});

test("counts runs by how they ended, and how long everything took", async () => {
  await run("return 1");
  await run("return 2");
  await run("throw new Error('x')");
  await run("for (;;);", { timeout: 100 });
  const seen = await scrape();
  const of = (reason: string, state: string) =>
    seen.get(`cyrnel_runs_total{environment="typescript-process",exit_state="${state}",reason="${reason}"}`);
  expect([of("ok", "success"), of("script_error", "failed"), of("timeout", "timeout")]).toEqual([2, 1, 1]);
  expect(seen.get('cyrnel_run_kills_total{reason="timeout"}')).toBe(1);
  for (const name of ["run_queue", "run_start", "run_cpu"])
    expect(seen.get(`cyrnel_${name}_seconds_count{environment="typescript-process"}`)).toBe(4);
  expect(seen.get('cyrnel_run_peak_memory_bytes_count{environment="typescript-process"}')).toBe(4);
  expect(
    seen.get('cyrnel_run_duration_seconds_sum{environment="typescript-process",exit_state="timeout"}'),
  ).toBeGreaterThanOrEqual(0.1);
  expect(seen.get('cyrnel_http_requests_total{method="POST",route="/processes",status="201"}')).toBe(4);
  expect(seen.get('cyrnel_http_request_duration_seconds_count{method="POST",route="/processes"}')).toBe(4);
});

test("shows slots, warm children, their memory, the isolation and the database as they are", async () => {
  const { body } = await server.get("/environment");
  const seen = await scrape();
  expect(seen.get("cyrnel_slots")).toBe(body.capacity.slots);
  expect(seen.get("cyrnel_slots_busy")).toBe(0);
  expect(seen.get("cyrnel_queue_depth")).toBe(0);
  expect(seen.get("cyrnel_load_ratio")).toBe(0);
  expect(seen.has("cyrnel_warm_children")).toBe(true);
  expect(seen.get("cyrnel_children_memory_bytes")).toBeGreaterThan(5_000_000);
  expect(body.capacity.memoryBytes).toBeGreaterThan(5_000_000);
  expect(seen.get(`cyrnel_isolation_level{level="${body.isolation.level}"}`)).toBe(1);
  for (const { layer, name, required, obtained } of body.isolation.layers) {
    const series = `cyrnel_isolation_layer{layer="${layer}",name="${name}",required="${required}"}`;
    expect(seen.get(series)).toBe(obtained ? 1 : 0);
  }
  expect(seen.get("cyrnel_database_up")).toBe(1);
  expect(seen.get("cyrnel_database_pool_seconds")).toBeGreaterThan(0);
  expect(seen.get("cyrnel_resident_memory_bytes")).toBeGreaterThan(1_000_000);
});

test("the load counts runs and what waits for a slot, per slot", async () => {
  const { slots } = (await server.get("/environment")).body.capacity;
  const ids = await Promise.all(
    Array.from({ length: slots + 2 }, async () => {
      const answer = await server.post("/processes", {
        code: "await new Promise((resolve) => setTimeout(resolve, 60_000))",
        options: { timeout: 60_000 },
      });
      return answer.body.id as number;
    }),
  );
  await expect
    .poll(async () => (await scrape()).get("cyrnel_load_ratio"), { timeout: 15_000 })
    .toBeCloseTo((slots + 2) / slots);
  for (const id of ids) await server.post(`/processes/${id}/signals/kill`);
  await expect.poll(async () => (await scrape()).get("cyrnel_load_ratio"), { timeout: 15_000 }).toBe(0);
});

test("answers without a database, and says that there is none", async () => {
  server.setReachable(false);
  try {
    const seen = await scrape();
    expect(seen.get("cyrnel_database_up")).toBe(0);
    expect(seen.has("cyrnel_database_pool_seconds")).toBe(false);
  } finally {
    server.setReachable(true);
  }
});

test("nothing that clients or scripts choose becomes a series", async () => {
  const before = (await scrape()).size;
  await Promise.all(Array.from({ length: 30 }, (_, n) => server.get(`/no/such/route-${n}`)));
  await Promise.all(Array.from({ length: 30 }, (_, n) => server.get(`/processes/${n + 1000}`)));
  await run(
    "for (let n = 0; n < 50; n++) await tools['service' + n]['tool' + n]({}).catch(() => {}); return 1",
  );
  const after = await scrape();
  expect(after.get('cyrnel_http_requests_total{method="GET",route="unknown",status="404"}')).toBe(30);
  expect(
    after.get(
      'cyrnel_tool_call_duration_seconds_count{service="unknown",tool="unknown",status="error",http_status=""}',
    ),
  ).toBe(50);
  // Some more routes, statuses and one tool, each with its buckets.
  expect(after.size - before).toBeLessThan(120);
});

test("a label takes so many values and no more", () => {
  const bound = createLabelBound(2);
  expect(["a", "b", "c", "a", "d", "b"].map(bound)).toEqual(["a", "b", "other", "a", "other", "b"]);
});
