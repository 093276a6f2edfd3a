/** The one path of calls: what it refuses and in which order, its bounds, and what comes back. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startToolsServer, type ToolsServer } from "./tools-server.ts";

let server: ToolsServer;
let release: () => void = () => {};

/** What throws again whenever it is looked at. */
function throwHostile(): never {
  const refuse = () => {
    throw new Error("do not look at me");
  };
  throw new Proxy(new Error("x"), { get: refuse, getPrototypeOf: refuse, has: refuse, ownKeys: refuse });
}

beforeAll(async () => {
  server = await startToolsServer({
    environment: { CYRNEL_INVOKE_TIMEOUT_MS: "4000", CYRNEL_MAX_CALL_RESULT_BYTES: "100000" },
  });
  await server.addService("shop", {
    list: {
      inputSchema: {
        type: "object",
        properties: {
          query: {
            type: "object",
            properties: {
              page: { type: "integer", minimum: 1, default: 1 },
              state: { enum: ["open", "closed"] },
            },
            additionalProperties: false,
            default: {},
          },
          title: { type: "string", minLength: 2 },
        },
        required: ["title"],
      },
    },
    plain: {},
    hang: { invoke: () => new Promise(() => {}) },
    wait: {
      invoke: () =>
        new Promise((resolve) => {
          release = () => resolve("waited");
        }),
    },
    fail: {
      invoke: ({ parameters }) => {
        throw Object.assign(new Error(String(parameters.message)), parameters.fields);
      },
    },
    throwOdd: {
      invoke: () => {
        throw {
          get message() {
            throw new Error("no");
          },
        };
      },
    },
    huge: { invoke: () => ({ text: "x".repeat(200_000) }) },
    gigantic: { invoke: () => Array.from({ length: 3 }, () => new Array(5_000_000).fill(1)) },
    deep: { invoke: () => JSON.parse("[".repeat(5000) + "]".repeat(5000)) },
    cyclic: {
      invoke: () => {
        const value: Record<string, unknown> = {};
        value.self = value;
        return value;
      },
    },
    bigint: { invoke: () => ({ n: 10n, id: 9007199254740993n }) },
    proxy: { invoke: () => ({ inner: new Proxy({}, { ownKeys: () => throwHostile() }) }) },
    revoked: {
      invoke: () => {
        const { proxy, revoke } = Proxy.revocable([], {});
        revoke();
        return { inner: proxy };
      },
    },
    toJson: { invoke: () => ({ toJSON: () => throwHostile() }) },
    throwProxy: { invoke: () => throwHostile() },
    nothing: { invoke: () => undefined },
    fn: { invoke: () => () => 1 },
    live: { invoke: () => ({ date: new Date(0), map: new Map([[1, 2]]), skip: undefined }) },
    pattern: {
      inputSchema: { type: "object", properties: { text: { type: "string", pattern: "^(a+)+$" } } },
    },
    recursive: {
      inputSchema: {
        $defs: {
          node: {
            oneOf: [
              { properties: { x: { $ref: "#/$defs/node" } } },
              { properties: { x: { $ref: "#/$defs/node" } } },
            ],
          },
        },
        $ref: "#/$defs/node",
      },
    },
    remote: {
      inputSchema: {
        type: "object",
        properties: { x: { $ref: "http://127.0.0.1:1/schema.json" }, y: { type: "boolean" } },
      },
    },
  });
  await server.addService("other", { list: {} });
});
afterAll(() => server?.close());

async function expectRefused(path: string, status: number, code: string, parameters: unknown = {}) {
  const before = server.calls.length;
  const answer = await server.invoke(path, parameters);
  expect([answer.status, answer.body.code], answer.text).toEqual([status, code]);
  expect(server.calls.length).toBe(before);
  return answer.body as { error: string; issues?: { path: string; message: string }[] };
}

describe("a direct call", () => {
  test("reaches the adapter with defaults filled in and answers what it answered", async () => {
    const answer = await server.invoke("shop.list", { title: "abc" });
    expect([answer.status, answer.body]).toEqual([
      200,
      { result: { echoed: { title: "abc", query: { page: 1 } } } },
    ]);
    expect(server.calls.at(-1)).toMatchObject({ serviceId: "shop", toolId: "list" });
    expect(server.calls.at(-1)?.eid).toBeUndefined();
    expect((await server.post("/tools/shop/plain/invoke", {})).body).toEqual({ result: { echoed: {} } });
  });

  test("names the path of everything that does not fit", async () => {
    const { error, issues } = await expectRefused("shop.list", 400, "invalid_parameters", {
      title: 5,
      query: { page: 0, state: "shut", limit: 3 },
    });
    expect(issues).toEqual(
      expect.arrayContaining([
        { path: "parameters.title", message: "must be string, found number" },
        { path: "parameters.query.page", message: "must be >= 1" },
        { path: "parameters.query.state", message: 'must be one of "open", "closed"' },
        { path: "parameters.query.limit", message: "is not a known name; known are page, state" },
      ]),
    );
    expect(error).toContain("parameters.title must be string, found number");
    const missing = await expectRefused("shop.list", 400, "invalid_parameters");
    expect(missing.error).toBe("The parameters of shop.list are invalid: parameters.title is missing.");
  });

  test("an unknown tool or service is refused with what may have been meant", async () => {
    expect((await expectRefused("shop.lst", 404, "not_found")).error).toMatch(/Did you mean shop\.list/);
    expect((await expectRefused("shpo.list", 404, "not_found")).error).toMatch(/Did you mean shop\.list/);
    expect((await expectRefused("zzz.qqq", 404, "not_found")).error).not.toContain("Did you mean");
    const { error } = await expectRefused("shop.a", 404, "not_found");
    expect(error.split(", ").length).toBeLessThanOrEqual(5);
  });

  test("what is switched off is refused at once after the change, and works at once after the next", async () => {
    await server.post("/tools/shop/plain/enabled", { enabled: false });
    await expectRefused("shop.plain", 409, "tool_disabled");
    await server.post("/tools/shop/plain/enabled", { enabled: true });
    expect((await server.invoke("shop.plain")).status).toBe(200);
    await server.post("/services/other/enabled", { enabled: false });
    await expectRefused("other.list", 409, "service_disabled");
    await expectRefused("other.missing", 409, "service_disabled");
    await server.post("/services/other/enabled", { enabled: true });
    expect((await server.invoke("other.list")).status).toBe(200);
    // From another server on this database: it counts within a second.
    await server.pool`update services set stale = true where id = 'other'`;
    await expect
      .poll(async () => (await server.invoke("other.list")).body.code, { timeout: 5000 })
      .toBe("service_stale");
    await server.pool`update services set stale = false where id = 'other'`;
    await expect.poll(async () => (await server.invoke("other.list")).status, { timeout: 5000 }).toBe(200);
    await server.post("/modules/functions/enabled", { enabled: false });
    await expectRefused("other.list", 409, "adapter_inactive");
    await server.post("/modules/functions/enabled", { enabled: true });
    expect((await server.invoke("other.list")).status).toBe(200);
  });

  test("a changed schema counts from the next call on", async () => {
    await server.addService("changing", { one: { inputSchema: { type: "object", required: ["a"] } } });
    await expectRefused("changing.one", 400, "invalid_parameters", { b: 1 });
    await server.addService("changing", { one: { inputSchema: { type: "object", required: ["b"] } } });
    expect((await server.invoke("changing.one", { b: 1 })).status).toBe(200);
    await expectRefused("changing.one", 400, "invalid_parameters", { a: 1 });
  });

  test("an adapter's failure keeps its message, and nothing else of it", async () => {
    const answer = await server.invoke("shop.fail", {
      message: "The shop is closed.",
      fields: { code: "closed", status: 418, stack: "at secret.ts:1" },
    });
    expect([answer.status, answer.body.code, answer.body.error]).toEqual([
      502,
      "tool_failed",
      "The shop is closed.",
    ]);
    expect(answer.text).not.toContain("secret.ts");
    expect((await server.invoke("shop.throwOdd")).body).toMatchObject({
      code: "tool_failed",
      error: "The tool failed without saying why.",
    });
  });

  test.each([
    ["huge", "result_too_large"],
    ["gigantic", "result_too_large"],
    ["deep", "result_invalid"],
    ["cyclic", "result_invalid"],
    ["fn", "result_invalid"],
    ["proxy", "result_invalid"],
    ["revoked", "result_invalid"],
    ["toJson", "result_invalid"],
    ["throwProxy", "tool_failed"],
  ])("the answer of %s is refused: %s", async (tool, code) => {
    const answer = await server.invoke(`shop.${tool}`);
    expect([answer.status, answer.body.code]).toEqual([502, code]);
  });

  test("an answer is what JSON makes of it", async () => {
    expect((await server.invoke("shop.nothing")).body).toEqual({ result: null });
    expect((await server.invoke("shop.live")).body).toEqual({
      result: { date: "1970-01-01T00:00:00.000Z", map: {} },
    });
    expect((await server.invoke("shop.bigint")).text).toBe('{"result":{"n":10,"id":9007199254740993}}');
  });

  test("a call that takes too long is cut off, and its signal aborts", async () => {
    const answer = await server.invoke("shop.hang");
    expect([answer.status, answer.body.code]).toEqual([504, "call_timeout"]);
    expect(server.calls.at(-1)?.signal?.aborted).toBe(true);
  });

  test("a client that goes away aborts its call", async () => {
    const before = server.calls.length;
    const gone = new AbortController();
    const sent = server
      .request("POST", "/tools/shop/hang/invoke", { json: {}, signal: gone.signal })
      .catch(() => {});
    await expect.poll(() => server.calls.length).toBe(before + 1);
    gone.abort();
    await sent;
    await expect.poll(() => server.calls.at(-1)?.signal?.aborted, { timeout: 1000 }).toBe(true);
  });

  test("hostile schemas cannot hold up the server or other calls", async () => {
    expect((await server.invoke("shop.pattern", { text: `${"a".repeat(60)}!` })).body.code).toBe(
      "invalid_parameters",
    );
    let nested: Record<string, unknown> = {};
    for (let depth = 0; depth < 60; depth += 1) nested = { x: nested };
    const slow = server.invoke("shop.recursive", nested);
    expect((await server.invoke("shop.list", { title: "abc" })).status).toBe(200);
    expect(["invalid_parameters", "tool_schema_invalid", "call_timeout"]).toContain((await slow).body.code);
    expect((await server.invoke("shop.pattern", { text: "aaa" })).status).toBe(200);
    expect((await server.invoke("shop.remote", { x: 1, y: true })).status).toBe(200);
    await expectRefused("shop.remote", 400, "invalid_parameters", { y: 1 });
  });

  test.each([["1shop/list"], ["shop/li-st"], [`shop/${"a".repeat(190)}%20`]])(
    "refuses the path %s",
    async (path) => {
      expect((await server.post(`/tools/${path}/invoke`, {})).status).toBe(400);
    },
  );

  test.each([[{ parameters: [] }], [{ parameters: "x" }], [{ params: {} }]])(
    "refuses the body %j",
    async (body) => {
      expect((await server.post("/tools/shop/list/invoke", body)).body.code).toBe("invalid_request");
    },
  );
});

describe("policies and roles", () => {
  test("a blocked call does not reach the adapter, one to be asked about has nobody to ask", async () => {
    const made = await server.post("/policies", {
      servicePattern: "shop",
      toolPattern: "plain",
      decision: "block",
    });
    expect(made.status, made.text).toBe(201);
    await expectRefused("shop.plain", 403, "policy_blocked");
    expect((await server.get("/tools/shop/plain")).body.policy).toBe("block");
    await server.patch(`/policies/${made.body.id}`, { decision: "ask" });
    await expectRefused("shop.plain", 403, "approval_unavailable");
    await server.request("DELETE", `/policies/${made.body.id}`);
    expect((await server.invoke("shop.plain")).status).toBe(200);
  });

  test("what a role hides does not exist for its key", async () => {
    const role = await server.post("/roles", { name: "lists", allow: ["*.list"], deny: ["other.*"] });
    expect(role.status, role.text).toBe(201);
    const key = await server.post("/keys", {
      name: "limited",
      scopes: ["processes:write", "processes:read"],
      roleId: role.body.id,
    });
    expect(key.status, key.text).toBe(201);
    const secret = key.body.key ?? key.body.secret;
    const headers = { authorization: `Bearer ${secret}` };
    expect((await server.invoke("shop.list", { title: "abc" }, headers)).status).toBe(200);
    for (const path of ["shop.plain", "other.list", "other.nothing", "nowhere.list"]) {
      const answer = await server.invoke(path, {}, headers);
      expect([answer.status, answer.body.code]).toEqual([404, "not_found"]);
      expect(answer.body.error).not.toMatch(/mean.*(plain|other)/);
    }
    const { tools } = (await server.get("/tools", headers)).body;
    expect(tools.map((tool: { serviceId: string; id: string }) => `${tool.serviceId}.${tool.id}`)).toEqual([
      "shop.list",
    ]);
    expect((await server.get("/tools?query=plain", headers)).body).toMatchObject({
      tools: [{ serviceId: "shop", id: "list", score: 0 }],
      services: ["shop"],
    });
    expect((await server.get("/tools/shop/plain", headers)).status).toBe(404);
    const types = await server.get("/tools/types.d.ts", headers);
    expect(types.text).toContain("list(");
    expect(types.text).not.toContain("plain");
  });
});

describe("a call by a script", () => {
  test("is recorded in its trail and in the audit, once", async () => {
    const { body } = await server.post("/processes", {
      block: true,
      code: 'call shop list {"title":"abc"}\ncall shop lost {}\ncall shop list {}',
    });
    expect(body.stdout).toContain('{"echoed":{"title":"abc","query":{"page":1}}}');
    expect(body.stdout).toContain("ToolError not_found: There is no tool shop.lost");
    expect(body.stdout).toContain("ToolError invalid_parameters: The parameters of shop.list are invalid");
    const { calls } = (await server.get(`/processes/${body.id}/calls`)).body;
    expect(calls.map(({ status }: { status: string }) => status)).toEqual(["ok", "error", "error"]);
    expect(calls[0]).toMatchObject({ parameters: { title: "abc" }, result: { echoed: { title: "abc" } } });
    await expect
      .poll(
        async () => (await server.get(`/audit?processId=${body.id}&action=tool.call`)).body.records?.length,
      )
      .toBe(3);
  });

  test("is cut off when its run is killed: the service sees the connection close", async () => {
    const closed = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const slow = createServer((_request, response) => {
      response.once("close", () => closed.resolve());
      response.write("{");
      reached.resolve();
    });
    await new Promise<void>((resolve) => slow.listen(0, "127.0.0.1", resolve));
    const { port } = slow.address() as AddressInfo;
    try {
      await server.addService("slow", {
        read: {
          invoke: async ({ signal }) =>
            (await fetch(`http://127.0.0.1:${port}/`, { signal: signal ?? null })).json(),
        },
      });
      const { body } = await server.post("/processes", { code: "call slow read {}" });
      await reached.promise;
      await server.post(`/processes/${body.id}/signals/kill`, {});
      await closed.promise;
      await server.get(`/processes/${body.id}?wait=5000`);
      const { calls } = (await server.get(`/processes/${body.id}/calls`)).body;
      expect(calls).toMatchObject([{ status: "unknown" }]);
    } finally {
      slow.closeAllConnections();
      slow.close();
    }
  });

  test("a tool whose adapter ignores the signal does not hold up the end of the run", async () => {
    const { body } = await server.post("/processes", { code: "call shop wait {}" });
    await expect.poll(() => server.calls.at(-1)?.toolId).toBe("wait");
    await server.post(`/processes/${body.id}/signals/kill`, {});
    const ended = await server.get(`/processes/${body.id}?wait=5000`);
    expect(ended.body.exitState).toBe("canceled");
    release();
    expect(server.server.tools.inFlight).toBe(0);
  });
});
