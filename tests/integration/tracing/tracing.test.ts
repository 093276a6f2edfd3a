/** Traces as a collector receives them: the real exporter, over HTTP, and what belongs to what. */
import { execFile } from "node:child_process";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startServer, type TestServer } from "../harness/server.ts";
import { readSpans, type Span } from "./otlp.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const REQUEST_SPAN = "b7ad6b7169203331";

let collector: Server;
let endpoint: string;
let server: TestServer;
let status = 200;
const spans: Span[] = [];
const seen: { url: string | undefined; authorization: string | undefined }[] = [];

beforeAll(async () => {
  collector = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      seen.push({ url: request.url, authorization: request.headers.authorization });
      if (status === 200) spans.push(...readSpans(Buffer.concat(parts)));
      response.writeHead(status, { "content-type": "application/x-protobuf" }).end();
    });
  });
  await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve));
  endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  server = await startServer({
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20collector-key",
    },
  });
});
afterAll(async () => {
  await server.close();
  collector.closeAllConnections();
  await new Promise((resolve) => collector.close(resolve));
});

async function wait(found: () => boolean): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!found()) {
    if (Date.now() > deadline) throw new Error(`not among the spans: ${JSON.stringify(spans, null, 1)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const ofProcess = (name: string, id: number) =>
  spans.filter((span) => span.name === name && span.attributes["cyrnel.process.id"] === id);

test("a call belongs to its run, the run to its request, the request to the client's own trace", async () => {
  const answer = await server.post(
    "/processes",
    { block: true, code: "await tools.nowhere.nothing({}).catch(() => {}); return 1" },
    { traceparent: `00-${TRACE}-${REQUEST_SPAN}-01` },
  );
  const { id } = answer.body;
  await wait(() => ofProcess("run", id).length > 0 && spans.some((span) => span.parentId === REQUEST_SPAN));
  const request = spans.find((span) => span.parentId === REQUEST_SPAN) as Span;
  expect(request).toMatchObject({
    name: "POST /processes",
    traceId: TRACE,
    attributes: {
      "http.request.method": "POST",
      "http.route": "/processes",
      "http.response.status_code": 201,
      "cyrnel.request.id": answer.headers.get("x-request-id"),
    },
    service: "cyrnel",
  });
  const [run] = ofProcess("run", id);
  expect(run).toMatchObject({
    traceId: TRACE,
    parentId: request.spanId,
    attributes: {
      "cyrnel.environment": "typescript-process",
      "cyrnel.run.exit_state": "success",
      "cyrnel.run.reason": "ok",
      "cyrnel.run.tool_calls": 1,
    },
  });
  const [call] = ofProcess("tool call", id);
  expect(call).toMatchObject({
    traceId: TRACE,
    parentId: run?.spanId,
    isError: true,
    attributes: {
      "cyrnel.service.id": "nowhere",
      "cyrnel.tool.id": "nothing",
      "cyrnel.call.outcome": "error",
    },
  });
  for (const { url, authorization } of seen)
    expect([url, authorization]).toEqual(["/v1/traces", "Bearer collector-key"]);
});

test("runs that had to wait belong to the requests that submitted them, not to each other", async () => {
  const { slots } = (await server.get("/environment")).body.capacity;
  const ids = await Promise.all(
    Array.from({ length: slots + 3 }, async (_, n) => {
      const trace = n.toString(16).padStart(32, "e");
      const answer = await server.post(
        "/processes",
        { code: "await new Promise((resolve) => setTimeout(resolve, 300))" },
        { traceparent: `00-${trace}-${REQUEST_SPAN}-01` },
      );
      return { id: answer.body.id as number, trace };
    }),
  );
  await wait(() => ids.every(({ id }) => ofProcess("run", id).length === 1));
  expect(ids.map(({ id }) => ofProcess("run", id)[0]?.traceId)).toEqual(ids.map(({ trace }) => trace));
});

test("a run that another server takes belongs to the request that submitted it here", async () => {
  await using other = await startServer({
    database: server.database,
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SERVICE_NAME: "other" },
  });
  const ids: number[] = [];
  const trace = "f0".repeat(16);
  const submit = async () => {
    const answer = await server.post(
      "/processes",
      { code: "await new Promise((resolve) => setTimeout(resolve, 500))" },
      { traceparent: `00-${trace}-${REQUEST_SPAN}-01` },
    );
    ids.push(answer.body.id);
  };
  const isTaken = () => ids.some((id) => ofProcess("run", id).some(({ service }) => service === "other"));
  // Until one of them has ended there.
  for (let round = 0; !isTaken() && round < 40; round += 1) {
    await Promise.all(Array.from({ length: 4 }, submit));
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  await wait(() => ids.every((id) => ofProcess("run", id).length === 1));
  expect(isTaken()).toBe(true);
  for (const id of ids) expect(ofProcess("run", id)[0]?.traceId).toBe(trace);
  expect(other.url).not.toBe(server.url);
});

test("a process that is run again joins the trace of that request; a call without a script that of its own", async () => {
  const { body } = await server.post("/processes", { code: "return 1", autorun: false });
  await server.post(
    `/processes/${body.id}/signals/run`,
    { block: true },
    {
      traceparent: `00-${"ab".repeat(16)}-${REQUEST_SPAN}-01`,
    },
  );
  await wait(() => ofProcess("run", body.id).length === 1);
  expect(ofProcess("run", body.id)[0]?.traceId).toBe("ab".repeat(16));
  await server.post(
    "/tools/direct/call/invoke",
    {},
    { traceparent: `00-${"cd".repeat(16)}-${REQUEST_SPAN}-01` },
  );
  await wait(() => spans.some(({ attributes }) => attributes["cyrnel.service.id"] === "direct"));
  const call = spans.find(({ attributes }) => attributes["cyrnel.service.id"] === "direct");
  expect(call?.traceId).toBe("cd".repeat(16));
});

test("a trace that is not sampled, or is nonsense, does no harm", async () => {
  const silent = "ef".repeat(16);
  await server.post(
    "/processes",
    { code: "return 1", block: true },
    {
      traceparent: `00-${silent}-${REQUEST_SPAN}-00`,
    },
  );
  for (const traceparent of ["nonsense", `00-${"0".repeat(32)}-${REQUEST_SPAN}-01`, "00-é", "x".repeat(5000)])
    expect((await server.get("/policies", { traceparent: encodeURI(traceparent) })).status).toBe(200);
  const { body } = await server.post("/processes", { code: "return 1", block: true });
  await wait(() => ofProcess("run", body.id).length === 1);
  expect(spans.some(({ traceId }) => traceId === silent)).toBe(false);
});

test("probes are not traced, and nothing a script says is in a span", async () => {
  await server.get("/health");
  await server.get("/metrics");
  const { body } = await server.post("/processes", {
    block: true,
    code: "console.log('said-on-stdout'); throw new Error('said-in-an-error')",
  });
  await wait(() => ofProcess("run", body.id).length === 1);
  expect(ofProcess("run", body.id)[0]).toMatchObject({ isError: true });
  expect(spans.some(({ name }) => /health|metrics/.test(name))).toBe(false);
  expect(JSON.stringify(spans)).not.toMatch(/said-/);
});

test("a collector that refuses is said once, and runs go on", async () => {
  status = 400;
  const { body } = await server.post("/processes", { code: "return 1", block: true });
  expect(body.exitState).toBe("success");
  await wait(() => server.logs().some(({ type }) => type === "tracing"));
  status = 200;
});

test("without an endpoint nothing of it is loaded", async () => {
  const script = `
    import { registerHooks } from "node:module";
    const loaded = [];
    registerHooks({
      resolve(specifier, context, next) {
        if (/opentelemetry\\/(?!api)/.test(specifier)) loaded.push(specifier);
        return next(specifier, context);
      },
    });
    await import("#api/server.ts");
    const without = loaded.length;
    const settings = { endpoint: "http://127.0.0.1:1", headers: {}, serviceName: "x", ratio: 1 };
    const { createTelemetry } = await import("#api/observe/tracing/telemetry.ts");
    await using tracing = createTelemetry(settings, console);
    console.log(JSON.stringify([without, loaded.length > 0]));`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
  expect(JSON.parse(stdout)).toEqual([0, true]);
});
