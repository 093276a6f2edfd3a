/** The input of a run, over HTTP: bounds, schemas of hostile clients, runs again, and pauses, in both environments. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BUILTIN_MODULES } from "#api/components/modules/builtins.ts";
import { processSchema } from "#api/processes/model/schemas.ts";
import { type ApprovalsServer, startApprovalsServer } from "./approvals/server.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import type { Answer } from "./harness/server.ts";
import { until } from "./processes-server.ts";

const ORDERS = {
  type: "object",
  properties: {
    orders: { type: "array", items: { $ref: "#/$defs/order" }, minItems: 1 },
    currency: { type: "string", pattern: "^[A-Z]{3}$", default: "EUR" },
  },
  required: ["orders"],
  additionalProperties: false,
  $defs: { order: { type: "object", properties: { id: { type: "integer" } }, required: ["id"] } },
};
const SUM = "return cyrnel.input.orders.reduce((sum, { id }) => sum + id, 0)";

describe.each(["typescript-process", "typescript-ivm"])("%s", (environmentId) => {
  let database: TestDatabase;
  let on: ApprovalsServer;
  beforeAll(async () => {
    database = await createTestDatabase({ maxConnections: 12 });
    on = await start();
  });
  afterAll(async () => {
    await on?.[Symbol.asyncDispose]();
    await database?.drop();
  });

  async function start(): Promise<ApprovalsServer> {
    const started = await startApprovalsServer({
      database,
      environments: BUILTIN_MODULES.filter(({ type }) => type === "environment"),
      environment: { CYRNEL_APPROVAL_HOLD_MS: "0" },
    });
    await started.server.post(`/modules/${environmentId}/enabled`, { enabled: true });
    return started;
  }

  const post = (body: object, headers: Record<string, string> = {}) =>
    on.agent.send("POST", "/processes", { block: true, ...body }, headers);
  const again = (id: number, body: object = {}) =>
    on.agent.send("POST", `/processes/${id}/signals/run`, { force: true, block: true, ...body });

  function expectRefused(answer: Answer, path: string, message: RegExp): void {
    expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"]);
    expect(answer.body.issues).toContainEqual({ path, message: expect.stringMatching(message) });
  }

  test("reaches the script, and is in the record but not in lists", async () => {
    const input = { orders: [{ id: 1 }, { id: 41 }] };
    const { body, status } = await post({ code: SUM, input, inputSchema: ORDERS });
    expect([status, body.exitState, body.result]).toEqual([201, "success", 42]);
    expect(processSchema.parse(body)).toMatchObject({ input, inputSchema: ORDERS });
    expect(await on.read(body.id)).toMatchObject({ input, inputSchema: ORDERS, environment: environmentId });
    const { processes } = (await on.agent.send("GET", "/processes")).body;
    expect(processes[0].id).toBe(body.id);
    expect(Object.keys(processes[0])).not.toEqual(expect.arrayContaining(["input"]));
    expect(Object.keys(processes[0])).not.toEqual(expect.arrayContaining(["inputSchema"]));
  });

  test("none is undefined for the script and null in the record; null is null for both", async () => {
    const code = "return [typeof cyrnel.input, cyrnel.input === null]";
    const without = (await post({ code })).body;
    expect([without.result, without.input, without.inputSchema]).toEqual([["undefined", false], null, null]);
    const given = (await post({ code, input: null })).body;
    expect([given.result, given.input]).toEqual([["object", true], null]);
    const text = "\u0000 \ud800 \u2028 €";
    expect((await post({ code: "return cyrnel.input", input: text })).body).toMatchObject({
      input: text,
      result: text,
    });
  });

  test("that does not fit is refused with what does not, and nothing is stored", async () => {
    const before = (await on.agent.send("GET", "/processes")).body.processes[0]?.id;
    const schema = { code: SUM, inputSchema: ORDERS };
    expectRefused(
      await post({ ...schema, input: { orders: [{ id: "1" }] } }),
      "body.input.orders[0].id",
      /integer/,
    );
    expectRefused(await post({ ...schema, input: {} }), "body.input.orders", /is missing/);
    expectRefused(
      await post({ ...schema, input: { orders: [{ id: 1 }], currency: "eur" } }),
      "body.input.currency",
      /pattern/,
    );
    expectRefused(await post({ ...schema, input: null }), "body.input", /object, found null/);
    expectRefused(await post(schema), "body.input", /is missing/);
    expect((await on.agent.send("GET", "/processes")).body.processes[0]?.id).toBe(before);
  });

  test("of a mebibyte beside a script of 100 KiB arrives; a byte more is refused", async () => {
    const code = `/* ${"x".repeat(100 * 1024 - 60)} */ return cyrnel.input.length`;
    const fits = await post({ code, input: "x".repeat(1024 * 1024 - 2) });
    expect([fits.status, fits.body.result]).toEqual([201, 1024 * 1024 - 2]);
    expectRefused(
      await post({ code, input: "x".repeat(1024 * 1024 - 1) }),
      "body.input",
      /at most 1048576 bytes/,
    );
    const far = await post({ code, input: "x".repeat(3 * 1024 * 1024) });
    expect([far.status, far.body.code]).toEqual([413, "body_too_large"]);
    const list = await post({
      code: "return cyrnel.input.length",
      input: Array.from({ length: 80_000 }, (_, n) => ({ n })),
      inputSchema: { type: "array", items: { type: "object", properties: { n: { type: "integer" } } } },
    });
    expect([list.status, list.body.result]).toEqual([201, 80_000]);
  });

  test("that nests too deep, or has a key that could change a prototype, is refused", async () => {
    const nested = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels));
    expect((await post({ code: "return 1", input: nested(64) })).status).toBe(201);
    expectRefused(await post({ code: "return 1", input: nested(65) }), "body.input", /64 levels/);
    for (const input of ['{"__proto__": {"a": 1}}', '{"constructor": {"prototype": {"a": 1}}}']) {
      const answer = await on.server.request("POST", "/processes", {
        body: `{"code": "return 1", "input": ${input}}`,
        headers: { "content-type": "application/json", authorization: `Bearer ${on.agent.key}` },
      });
      expect([answer.status, answer.body.code]).toEqual([400, "invalid_json"]);
    }
  });

  test("of hostile schemas none is used, and none holds up the server", async () => {
    const deep = (levels: number) => {
      let schema: object = { type: "string" };
      for (let level = 0; level < levels; level++) schema = { items: schema };
      return schema;
    };
    const schemas: [object, RegExp][] = [
      [deep(70), /64 levels/],
      [{ allOf: Array.from({ length: 2000 }, () => ({ type: "object" })) }, /1500 parts/],
      [{ description: "x".repeat(70_000) }, /65536 characters/],
      [{ $ref: "https://example.com/schema.json" }, /\$ref/],
      [{ $ref: "file:///etc/passwd" }, /\$ref/],
      [{ $ref: "#/nowhere" }, /leads to no part/],
      [{ $ref: "#" }, /leads to no part/],
      [
        { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } },
        /cannot be used/,
      ],
      [{ $dynamicRef: "#meta" }, /\$dynamicRef/],
      [{ type: "text" }, /type/],
      [{ properties: { a: 1 } }, /no schema/],
      [{ pattern: "^(?=a)b" }, /cannot be used/],
      [{ pattern: "(a)\\1" }, /cannot be used/],
      [{ pattern: "a".repeat(3000) }, /cannot be used/],
      [{ pattern: "((((a{1000}){1000}){1000}){1000})" }, /cannot be used/],
    ];
    for (const [inputSchema, message] of schemas) {
      expectRefused(await post({ code: "return 1", input: "a", inputSchema }), "body.inputSchema", message);
    }
  });

  test("is checked within limits: patterns, pairs and piles of errors", async () => {
    const slow = await post({
      code: "return 1",
      input: `${"a".repeat(50_000)}!`,
      inputSchema: { pattern: "^(a+)+$" },
    });
    expectRefused(slow, "body.input", /pattern/);
    const keys = Array.from({ length: 4000 }, (_, n) => `k${n}`);
    const pairs = { type: "array", uniqueItems: true, items: { required: keys } };
    const answers = await Promise.all([
      post({
        code: "return 1",
        input: Array.from({ length: 60_000 }, (_, n) => ({ n: [n] })),
        inputSchema: pairs,
      }),
      post({ code: "return 'beside'" }),
    ]);
    expect(answers[0].status).toBe(400);
    expect(answers[1].body.result).toBe("beside");
    expect((await post({ code: "return 2", input: 1, inputSchema: { type: "integer" } })).body.result).toBe(
      2,
    );
  });

  test("stays for a run again, or is replaced by one that fits", async () => {
    const { id } = (await post({ code: SUM, input: { orders: [{ id: 1 }] }, inputSchema: ORDERS })).body;
    expect((await again(id)).body).toMatchObject({ result: 1, input: { orders: [{ id: 1 }] } });
    expectRefused(await again(id, { input: { orders: [] } }), "body.input.orders", /fewer than 1/);
    expect((await again(id)).body.result).toBe(1);
    expect((await again(id, { input: { orders: [{ id: 7 }] } })).body).toMatchObject({ result: 7 });
    expect(await on.read(id)).toMatchObject({ input: { orders: [{ id: 7 }] }, inputSchema: ORDERS });
  });

  test("may be given later, where the process is only stored at first", async () => {
    const { id } = (await post({ code: SUM, inputSchema: ORDERS, autorun: false })).body;
    expectRefused(await again(id), "body.input", /given no input yet/);
    expect((await again(id, { input: { orders: [{ id: 3 }] } })).body.result).toBe(3);
    expectRefused(
      await post({ code: "1", inputSchema: { $ref: "https://example.com" }, autorun: false }),
      "body.inputSchema",
      /\$ref/,
    );
  });

  test("makes another request of one with the same Idempotency-Key", async () => {
    const key = { "idempotency-key": `input ${environmentId}` };
    const first = await post({ code: "return cyrnel.input", input: { a: 1, b: 2 } }, key);
    const same = await post({ code: "return cyrnel.input", input: { b: 2, a: 1 } }, key);
    expect([same.status, same.body.id]).toEqual([201, first.body.id]);
    const other = await post({ code: "return cyrnel.input", input: { a: 1, b: 3 } }, key);
    expect([other.status, other.body.code]).toEqual([422, "idempotency_mismatch"]);
  });

  test("is not in the audit trail", async () => {
    const { id } = (await post({ code: "return 1", input: { note: "between-us", token: "t" } })).body;
    await again(id, { input: ["between-us-again"] });
    const entries = await until("both are recorded", async () => {
      const { records } = (await on.server.get("/audit?limit=20")).body;
      const own = records.filter(
        ({ object }: { object: { id: string } | null }) => object?.id === String(id),
      );
      return own.length === 2 && own;
    });
    for (const { parameters } of entries) expect(parameters.input).toBe("[redacted]");
    expect(JSON.stringify(entries)).not.toContain("between-us");
  });

  test("is the same for a repeated run, after a pause and after the server was started anew", async () => {
    const code = `
      const before = JSON.stringify(cyrnel.input);
      await tools.shop.list({ page: cyrnel.input.page });
      await tools.shop.delete_item({ name: cyrnel.input.name });
      return { before, after: cyrnel.input, frozen: Object.isFrozen(cyrnel.input.tags) };`;
    const input = { page: 3, name: "x", tags: ["a", { b: 1 }] };
    const id = await on.submit(code, { input });
    const [approval = ""] = await on.paused(id);
    expect((await again(id, { input: {} })).body.code).toBe("process_not_idle");
    await on[Symbol.asyncDispose]();
    on = await start();
    await on.decide(approval, "approve");
    expect(await on.read(id, "?wait=30000")).toMatchObject({
      exitState: "success",
      result: { before: JSON.stringify(input), after: input, frozen: true },
      input,
    });
  });
});
