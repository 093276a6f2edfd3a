/** What services answer, as scripts, direct calls and records see it, in both environments. */
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
  large: json(500, { rows: Array.from({ length: 20_000 }, (_, index) => `row ${index}`) }),
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
        Object.keys(REPLIES).map((name) => [`/${name}`, { get: { operationId: name, responses: ok } }]),
      ),
    };
    await must(
      server.post("/services", { id: "odd", adapter: "openapi", content: JSON.stringify(document) }),
    );
    const secrets = [{ op: "add", path: "/token", value: TOKEN }];
    await must(server.request("PATCH", "/services/odd/secrets", { json: secrets }));
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

  test("a direct call fails with the status and the first line, or gives the answer", async () => {
    const failed = await server.post("/tools/odd/missing/invoke", { parameters: {} });
    expect([failed.status, failed.body.code]).toEqual([502, "tool_failed"]);
    expect(failed.body.error).toMatch(/answered 404: \{"error":"no such item"\}/);
    const given = await server.post("/tools/odd/missing/invoke", { parameters: {}, throwOnError: false });
    expect(given.body.result).toMatchObject({ status: 404, body: { error: "no such item" } });
  });
});
