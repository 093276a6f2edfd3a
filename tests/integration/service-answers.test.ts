/** Results of services as scripts, direct calls and records see them, in both environments. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { BuiltinModule } from "#api/components/modules/builtins.ts";
import { startServer, type TestServer } from "./harness/server.ts";
import { SECRETS_KEY } from "./services-server.ts";

const TOKEN = "bearer-9Kf3mW7z-of-the-odd-service";

const BUILTINS: BuiltinModule[] = [
  {
    id: "typescript-process",
    type: "environment",
    load: () => import("#modules/typescript-process/index.ts"),
  },
  { id: "typescript-ivm", type: "environment", load: () => import("#modules/typescript-ivm/index.ts") },
  { id: "openapi", type: "adapter", load: () => import("#modules/openapi/index.ts") },
];

type Reply = (response: ServerResponse, request: IncomingMessage) => void;

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Reply =>
  (response) =>
    response
      .writeHead(status, { "content-type": "application/json", ...headers })
      .end(typeof body === "string" ? body : JSON.stringify(body));

const REPLIES: Record<string, Reply> = {
  list: json(200, { items: [1, 2] }),
  s500: json(500, { error: { message: "db down" } }, { "x-trace": "t1" }),
  missing: json(404, { error: "no such item" }),
  empty: json(410, ""),
  echoed: (response, request) => {
    const text = `${"x".repeat(290)}${request.headers.authorization}\nsecond line`;
    response.writeHead(403, { "content-type": "text/plain" }).end(text);
  },
  noType: (response) => void response.writeHead(200).end('{"a":1}'),
  asText: (response) => void response.writeHead(200, { "content-type": "text/html" }).end('{"a":2}'),
  page: (response) => void response.writeHead(200, { "content-type": "text/html" }).end("<b>no JSON</b>"),
  sse: (response, request) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    let count = 0;
    const timer = setInterval(() => {
      count += 1;
      response.write(`data: ${count}\n\ndata: half`);
    }, 20);
    request.socket.on("close", () => clearInterval(timer));
  },
  finite: (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end("data: 1\n\ndata: 2\n\n");
  },
  query: (response, request) => json(200, { url: request.url })(response, request),
  body: (response, request) => {
    request.resume().on("end", () => json(200, { got: true })(response, request));
  },
  large: json(500, { rows: Array.from({ length: 20_000 }, (_, index) => `row ${index}`) }),
};

const parameter = (name: string, type: string) => ({ name, in: "query", schema: { type } });
const animal = (...more: string[]) => ({
  type: "object",
  properties: Object.fromEntries(["petType", "name", ...more].map((name) => [name, { type: "string" }])),
});
const SCHEMAS = {
  Cat: animal(),
  Dog: animal(),
  A: { type: "object", properties: { a: { type: "string" } } },
};
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const BODY = {
  type: "object",
  properties: {
    pet: { oneOf: [ref("Cat"), ref("Dog")], discriminator: { propertyName: "petType" } },
    number: { oneOf: [{ type: "integer" }, { type: "number" }] },
    shared: { oneOf: [ref("Cat"), ref("Dog")] },
    choice: { type: ["string", "null"], enum: ["a", "b"] },
    whole: {
      allOf: [
        ref("A"),
        { type: "object", properties: { b: { type: "string" } }, additionalProperties: false },
      ],
    },
  },
};
const DETAILS: Record<string, object> = {
  query: {
    parameters: ["constructor", "toString", "valueOf", "hasOwnProperty"]
      .map((name) => parameter(name, "string"))
      .concat(parameter("year", "integer")),
  },
  body: { requestBody: { content: { "application/json": { schema: BODY } } } },
};

describe.each(["typescript-process", "typescript-ivm"])("%s", (environment) => {
  let upstream: Server;
  let server: TestServer;

  beforeAll(async () => {
    upstream = createServer((request, response) => {
      const name = (request.url ?? "").slice(1).split("?")[0] as string;
      (REPLIES[name] as Reply)(response, request);
    });
    await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
    server = await startServer({
      builtins: BUILTINS,
      environment: {
        CYRNEL_ISOLATION: "development",
        CYRNEL_SECRETS_KEY: SECRETS_KEY,
        CYRNEL_EGRESS_ALLOW: "127.0.0.1",
      },
    });
    await must(server.post(`/modules/${environment}/enabled`, { enabled: true }));
    const ok = { 200: { description: "ok", content: { "application/json": { schema: {} } } } };
    const document = {
      openapi: "3.1.0",
      info: { title: "Odd", version: "1" },
      servers: [{ url }],
      components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
      security: [{ token: [] }],
      paths: Object.fromEntries(
        Object.keys(REPLIES).map((name) => [
          `/${name}`,
          { [name === "body" ? "post" : "get"]: { operationId: name, responses: ok, ...DETAILS[name] } },
        ]),
      ),
    };
    Object.assign(document.components, { schemas: SCHEMAS });
    await must(
      server.post("/services", { id: "odd", adapter: "openapi", content: JSON.stringify(document) }),
    );
    const secrets = [{ op: "add", path: "/token", value: TOKEN }];
    await must(server.request("PATCH", "/services/odd/secrets", { json: secrets }));
    const config = [{ op: "add", path: "/maxStreamMs", value: 300 }];
    await must(server.request("PATCH", "/services/odd/config", { json: config }));
    await must(server.post("/services/odd/enabled", { enabled: true }));
  });
  afterAll(async () => {
    await server?.close();
    upstream?.closeAllConnections();
    upstream?.close();
  });

  async function must(answered: ReturnType<TestServer["post"]>) {
    const answer = await answered;
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer;
  }

  async function run(code: string) {
    const { body } = await must(server.post("/processes", { code, block: true }));
    const calls = (await server.get(`/processes/${body.id}/calls`)).body.calls;
    return { ...body, calls };
  }

  test("an HTTP status of 400 and above rejects, and is nowhere recorded as ok", async () => {
    const failed = await run(
      "const r = await tools.odd.s500({}); return { imported: (r.body.items ?? []).length }",
    );
    expect([failed.exitState, failed.result]).toEqual(["failed", null]);
    expect(failed.error).toMatch(/answered 500: \{"error":\{"message":"db down"\}\}/);
    expect(failed.calls).toMatchObject([{ status: "error", httpStatus: 500, error: failed.error }]);

    const caught = await run(`
      try { await tools.odd.s500({}) } catch (error) {
        return { ...error, isError: error instanceof Error, message: error.message };
      }`);
    expect(caught.result).toEqual({
      isError: true,
      message: expect.stringContaining("answered 500"),
      code: "http_error",
      status: 500,
      headers: expect.objectContaining({ "x-trace": "t1" }),
      body: { error: { message: "db down" } },
    });
    const audited = await server.get("/audit?action=tool.call&outcome=failed&limit=1");
    expect(audited.body.records).toMatchObject([{ code: "http_error", httpStatus: 500 }]);
    const metrics = await server.get("/metrics");
    expect(metrics.text).toMatch(
      /tool_call_duration_seconds_count\{service="odd",tool="s500",status="error",http_status="5xx"\} 2/,
    );
  });

  test("a good answer has its status as a number, in the answer and in the record", async () => {
    const listed = await run(
      "const { status, body } = await tools.odd.list({}); return [status === 200, body]",
    );
    expect(listed.result).toEqual([true, { items: [1, 2] }]);
    expect(listed.calls).toMatchObject([{ status: "ok", httpStatus: 200 }]);
  });

  test("throwOnError: false gives the answer; the record says that the call failed", async () => {
    const looked = await run(`
      const options = { throwOnError: false };
      const missing = await tools.odd.missing({}, options);
      const large = await cyrnel.services.odd.tools.large.invoke({}, options);
      return { status: missing.status, body: missing.body, rows: large.body.rows.length };`);
    expect(looked.result).toEqual({ status: 404, body: { error: "no such item" }, rows: 20_000 });
    expect(looked.calls).toMatchObject([
      { status: "error", httpStatus: 404, result: { status: 404 } },
      { status: "error", httpStatus: 500 },
    ]);
    const wrong = await run("return tools.odd.list({}, { throwOnErrors: false }).catch((e) => e.message)");
    expect(wrong.result).toContain("throwOnError: false");
  });

  test("secrets are replaced before the first line of a body is cut", async () => {
    const echoed = await run("return tools.odd.echoed({}).catch((e) => [e.message, e.body])");
    expect(echoed.result[0]).toMatch(/x{290}Bearer \[s/);
    expect(echoed.result[0]).not.toContain("second line");
    expect(echoed.result[1]).toMatch(/Bearer \[secret\]\nsecond line$/);
    expect(JSON.stringify(echoed)).not.toContain(TOKEN.slice(0, 8));
  });

  test("a body beyond what an error carries is cut, and says so", async () => {
    const large = await run(
      "return tools.odd.large({}).catch((e) => [typeof e.body, e.body.length, e.body.slice(-40)])",
    );
    expect(large.result[0]).toBe("string");
    expect(large.result[1]).toBeLessThan(64 * 1024);
    expect(large.result[2]).toMatch(/… \[\d+ characters, truncated\]$/);
    const empty = await run("return tools.odd.empty({}).catch((e) => [e.message, e.status, e.body])");
    expect(empty.result).toEqual([expect.stringMatching(/answered 410\.$/), 410, null]);
  });

  test("JSON that the document promises is parsed, whatever the server calls it", async () => {
    const read = await run(`
      const bodies = [];
      for (const name of ["noType", "asText", "page"]) bodies.push((await tools.odd[name]({})).body);
      return bodies;`);
    expect(read.result).toEqual([{ a: 1 }, { a: 2 }, "<b>no JSON</b>"]);
  });

  test("an event stream is what came of it in time, in whole events", async () => {
    const { result } = await run("return [await tools.odd.sse({}), await tools.odd.finite({})]");
    expect(result[0]).toMatchObject({ status: 200, truncated: true });
    expect(result[0].body).toMatch(/^data: 1\n\n(data: half)?data: 2\n\n[\s\S]*\n\n$/);
    expect(result[1].body).toBe("data: 1\n\ndata: 2\n\n");
    expect(result[1]).not.toHaveProperty("truncated");
  });

  test("names that every object has are parameters like any other", async () => {
    const { result } = await run(`
      const urls = [await tools.odd.query({ query: { year: 2026 } }), await tools.odd.query({ query: { constructor: "x", valueOf: "y" } })];
      return urls.map(({ body }) => body.url);`);
    expect(result).toEqual(["/query?year=2026", "/query?constructor=x&valueOf=y"]);
  });

  test.each([
    { pet: { petType: "Cat", name: "x" } },
    { number: 1 },
    { shared: { name: "x" } },
    { choice: null },
    { whole: { a: "x", b: "y" } },
  ])("parameters that a server may take are sent: %j", async (body) => {
    const answer = await must(server.post("/tools/odd/body/invoke", { parameters: { body } }));
    expect(answer.body.result.body).toEqual({ got: true });
  });

  test.each([
    [{ pet: { petType: "Fish" } }, "petType"],
    [{ choice: "c" }, "choice"],
    [{ whole: { a: "x", c: "y" } }, "c is not a known name; known are a, b"],
  ])("parameters that no branch allows are refused: %j", async (body, message) => {
    const answer = await server.post("/tools/odd/body/invoke", { parameters: { body } });
    expect([answer.status, answer.body.code]).toEqual([400, "invalid_parameters"]);
    expect(answer.body.error).toContain(message);
  });

  test("a direct call fails with the status and the first line, or gives the answer", async () => {
    const failed = await server.post("/tools/odd/missing/invoke", { parameters: {} });
    expect([failed.status, failed.body.code]).toEqual([502, "tool_failed"]);
    expect(failed.body.error).toMatch(/answered 404: \{"error":"no such item"\}/);
    const given = await server.post("/tools/odd/missing/invoke", { parameters: {}, throwOnError: false });
    expect(given.body.result).toMatchObject({ status: 404, body: { error: "no such item" } });
  });
});
