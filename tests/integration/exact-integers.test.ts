/** Integers beyond 2^53 on their way: service to script, script to service, over HTTP, and through a pause. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BUILTIN_MODULES } from "#api/components/modules/builtins.ts";
import { startServer, type TestServer } from "./harness/server.ts";
import { until } from "./processes-server.ts";
import { SECRETS_KEY } from "./services-server.ts";

const ID = "9007199254740993";

let upstream: Server;
let url: string;
let server: TestServer;
/** Requests as they came. */
const seen: { path: string; body: string }[] = [];

/** `/echo` answers what it was sent; `/orders/1` answers an order of which two members are large. */
beforeAll(async () => {
  upstream = createServer(async (request, response) => {
    const body = await text(request);
    seen.push({ path: request.url ?? "", body });
    response.setHeader("content-type", "application/json");
    response.end(
      body !== "" ? body : `{"id":${ID},"free":${ID},"list":[{"id":-${ID}}],"rate":1e400,"small":5}`,
    );
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  server = await startServer({
    builtins: BUILTIN_MODULES,
    environment: {
      CYRNEL_SECRETS_KEY: SECRETS_KEY,
      CYRNEL_EGRESS_ALLOW: "127.0.0.1",
      CYRNEL_APPROVAL_HOLD_MS: "0",
    },
  });
  const made = await server.post("/services", {
    id: "shop",
    adapter: "openapi",
    content: JSON.stringify(DOCUMENT(url)),
  });
  expect([made.status, made.text]).toEqual([201, expect.anything()]);
  expect((await server.post("/services/shop/enabled", { enabled: true })).status).toBe(200);
  const policy = { servicePattern: "shop", toolPattern: "erase", decision: "ask" };
  expect((await server.post("/policies", policy)).status).toBe(201);
});
afterAll(async () => {
  await server?.close();
  upstream?.closeAllConnections();
  upstream?.close();
});

const int64 = { type: "integer", format: "int64" };
const json = (schema: object) => ({ "application/json": { schema } });
const DOCUMENT = (base: string) => {
  const order = {
    type: "object",
    properties: {
      id: int64,
      free: {},
      list: { type: "array", items: { $ref: "#/components/schemas/Line" } },
    },
  };
  const responses = { 200: { description: "ok", content: json(order) } };
  const anything = { 200: { description: "ok", content: json({}) } };
  return {
    openapi: "3.1.0",
    info: { title: "Shop", version: "1" },
    servers: [{ url: base }],
    components: { schemas: { Line: { type: "object", properties: { id: int64 } } } },
    paths: {
      "/orders/{id}": {
        get: {
          operationId: "read",
          parameters: [
            { name: "id", in: "path", required: true, schema: int64 },
            { name: "after", in: "query", schema: { type: "array", items: int64 } },
          ],
          responses,
        },
        delete: {
          operationId: "erase",
          parameters: [{ name: "id", in: "path", required: true, schema: int64 }],
          responses,
        },
      },
      "/echo": {
        post: { operationId: "echo", requestBody: { content: json({}) }, responses: anything },
        put: { operationId: "put", requestBody: { content: json(order) }, responses },
      },
    },
  };
};

async function runScript(code: string, body: Record<string, unknown> = {}) {
  const answer = await server.post("/processes", { code, block: true, ...body });
  return answer.body;
}

describe.each(["typescript-process", "typescript-ivm"])("%s", (environment) => {
  beforeAll(async () => {
    await server.post(`/modules/${environment}/enabled`, { enabled: true });
    const { environment: active } = await runScript("return 1");
    expect(active).toBe(environment);
  });

  test("an input is exact where its schema says integer, and rounded aloud elsewhere", async () => {
    const code =
      "return [typeof cyrnel.input.id, cyrnel.input, typeof cyrnel.input.free, Object.isFrozen(cyrnel.input)]";
    const body = `{"block":true,"code":${JSON.stringify(code)},"input":{"id":9007199254740993,"free":9007199254740993,"huge":1e20},
      "inputSchema":{"properties":{"id":{"type":"integer","maximum":9223372036854775807}}}}`;
    const answer = await server.request("POST", "/processes", {
      body,
      headers: { "content-type": "application/json" },
    });
    expect(answer.body.result).toEqual([
      "bigint",
      { id: "9007199254740993", free: 9007199254740992, huge: 1e20 },
      "number",
      true,
    ]);
    expect(answer.body.warnings).toMatchObject([{ code: "number_rounded", path: "input.free" }]);
    expect(answer.text).toContain(
      '"input":{"id":9007199254740993,"free":9007199254740993,"huge":100000000000000000000}',
    );
    const again = await server.request("POST", `/processes/${answer.body.id}/signals/run`, {
      body: '{"force":true,"block":true,"input":{"id":-9007199254740995}}',
      headers: { "content-type": "application/json" },
    });
    expect(again.body.result[1]).toEqual({ id: "-9007199254740995" });
    expect(again.body.warnings).toEqual([]);
    const refused = await server.request("POST", "/processes", {
      body: '{"code":"return 1","input":9007199254740993.5,"inputSchema":{"type":"string"}}',
      headers: { "content-type": "application/json" },
    });
    expect(refused.body.code).toBe("invalid_request");
  });

  test("an id goes from one answer into the next request as it is", async () => {
    const record = await runScript(`
      const { body } = await tools.shop.read({ path: { id: 1 } });
      await tools.shop.put({ body: { id: body.id, list: [{ id: "${ID}" }] } });
      await tools.shop.read({ path: { id: body.id }, query: { after: [body.id, 7n, "8"] } });
      const back = await tools.shop.put({ body: { id: body.id } });
      return [typeof body.id, typeof body.free, body.list[0].id === -body.id, body.rate, body.small, back.body.id === body.id, body.id];`);
    expect(record.error).toBeNull();
    expect(record.result).toEqual(["bigint", "number", true, null, 5, true, ID]);
    const [, put, read] = seen.slice(-4);
    expect(put?.body).toBe(`{"id":${ID},"list":[{"id":${ID}}]}`);
    expect(read?.path).toMatch(new RegExp(`^/orders/${ID}\\?after=${ID}.*7.*8$`));
    const codes = record.warnings.map(({ code, path }: { code: string; path: string }) => [code, path]);
    expect(codes).toContainEqual(["number_rounded", "answer.body.free"]);
    expect(codes).toContainEqual(["value_not_json", "answer"]);
    const { calls } = (await server.get(`/processes/${record.id}/calls`)).body;
    expect(calls).toHaveLength(4);
    expect((await server.get(`/processes/${record.id}/calls`)).text).toContain(
      `"parameters":{"path":{"id":"${ID}"}`,
    );
  });

  test("an id survives an approval, the end of the child and the repetition", async () => {
    const { id } = (
      await server.post("/processes", {
        code: `const { body } = await tools.shop.read({ path: { id: 1 } });
          await tools.shop.erase({ path: { id: body.id } });
          return (await tools.shop.put({ body: { id: body.id } })).body.id === ${ID}n;`,
      })
    ).body;
    let approval = "";
    await until("it waits", async () => {
      const record = (await server.get(`/processes/${id}`)).body;
      if (record.state === "idle") throw new Error(record.error);
      [approval = ""] = record.approvals;
      return record.state === "paused" && approval !== "";
    });
    expect((await server.get(`/approvals/${approval}`)).text).toContain(
      `"parameters":{"path":{"id":"${ID}"}}`,
    );
    expect((await server.post(`/approvals/${approval}/approve`, {})).status).toBe(200);
    const record = (await server.get(`/processes/${id}?wait=30000`)).body;
    expect([record.error, record.result]).toEqual([null, true]);
    expect(seen.slice(-2)).toEqual([
      { path: `/orders/${ID}`, body: "" },
      { path: "/echo", body: `{"id":${ID}}` },
    ]);
  });

  test("any JSON comes back from a service as it was sent", async () => {
    const values = fc.sample(fc.jsonValue({ maxDepth: 4, stringUnit: "grapheme" }), {
      numRuns: 100,
      seed: 26,
    });
    const record = await runScript(
      `const differing = [];
      for (const value of cyrnel.input) {
        const { body } = await tools.shop.echo({ body: value });
        if (JSON.stringify(body) !== JSON.stringify(value)) differing.push([value, body]);
      }
      return differing;`,
      { input: values.filter((value) => value !== null && !JSON.stringify(value).includes("__proto__")) },
    );
    expect([record.error, record.result]).toEqual([null, []]);
  });
});

test("a direct call sends and answers every digit", async () => {
  const send = (tool: string, body: string) =>
    server.request("POST", `/tools/shop/${tool}/invoke`, {
      body,
      headers: { "content-type": "application/json" },
    });
  const echoed = await send("echo", `{"parameters":{"body":{"a":[${ID},-12345678901234567890123]}}}`);
  expect(seen.at(-1)?.body).toBe(`{"a":[${ID},-12345678901234567890123]}`);
  expect(echoed.text).toContain(`"body":{"a":[${ID},-12345678901234567890123]}`);
  expect((await send("read", `{"parameters":{"path":{"id":${ID}}}}`)).status).toBe(200);
  expect(seen.at(-1)?.path).toBe(`/orders/${ID}`);
  const refused = await send("put", '{"parameters":{"body":{"id":"9x"}}}');
  expect([refused.status, refused.body.error]).toEqual([
    400,
    expect.stringContaining("parameters.body.id must be integer, found string"),
  ]);
  expect((await send("read", '{"parameters":{"path":{"id":1e400}}}')).status).toBe(400);
});
