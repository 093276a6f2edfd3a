/** Checking parameters against schemas nobody here wrote: honest, sloppy and hostile ones. */
import { afterAll, describe, expect, test } from "vitest";
import { readSchema } from "#api/tools/validation/readable-schema.ts";
import { createParameterValidator } from "#api/tools/validation/validator.ts";

const validator = createParameterValidator();
afterAll(() => validator[Symbol.asyncDispose]());
let count = 0;

function check(schema: Record<string, unknown>, parameters: Record<string, unknown>) {
  count += 1;
  return validator.check("test", `schema ${count}`, async () => schema, parameters);
}

async function issuesOf(
  schema: Record<string, unknown>,
  parameters: Record<string, unknown>,
): Promise<string[]> {
  const outcome = await check(schema, parameters);
  if (outcome.kind === "valid") return [];
  if (outcome.kind !== "invalid") throw new Error(`${outcome.kind}: ${outcome.message}`);
  return outcome.issues.map(({ path, message }) => `${path} ${message}`);
}

const object = (properties: Record<string, unknown>, more: object = {}) => ({
  type: "object",
  properties,
  ...more,
});

describe("what is checked", () => {
  test.each([
    [object({ a: { type: "integer", minimum: 2 } }), { a: 1 }, ["parameters.a must be >= 2"]],
    [
      object({ a: { type: "array", items: { type: "string" } } }),
      { a: ["x", 5] },
      ["parameters.a[1] must be string, found number"],
    ],
    [object({ "a b": { const: 3 } }), { "a b": 4 }, ['parameters["a b"] must be 3']],
    [object({ a: { exclusiveMinimum: true, minimum: 3 } }), { a: 3 }, ["parameters.a must be > 3"]],
    [object({ a: { type: "string", nullable: true } }), { a: null }, []],
    [object({ a: { nullable: true, enum: ["x"] } }), { a: null }, []],
    [
      object({ a: { items: [{ type: "string" }], additionalItems: false } }),
      { a: [1] },
      ["parameters.a[0] must be string, found number"],
    ],
    [object({ a: { pattern: "^\\d{3}$" } }), { a: "12" }, ['parameters.a must match pattern "^\\d{3}$"']],
    [
      object({ a: { pattern: "^a$" }, b: { pattern: "^b$" } }),
      { a: "b", b: "b" },
      ['parameters.a must match pattern "^a$"'],
    ],
    [object({ a: false }), { a: 1 }, ["parameters.a must not be given"]],
    [
      object({ a: { $ref: "#/$defs/n" } }, { $defs: { n: { type: "number" } } }),
      { a: "1" },
      ["parameters.a must be number, found string"],
    ],
  ])("%j", async (schema, parameters, issues) => {
    expect(await issuesOf(schema, parameters)).toEqual(issues);
  });

  test("defaults are filled in, in a copy", async () => {
    const given = { nested: {} };
    const outcome = await check(
      object({ nested: object({ page: { default: 1 } }), tags: { default: ["a"] } }),
      given,
    );
    expect(outcome).toEqual({ kind: "valid", parameters: { nested: { page: 1 }, tags: ["a"] } });
    expect(given).toEqual({ nested: {} });
  });
});

describe("what a sloppy or hostile schema says is left out, never fatal", () => {
  test.each([
    { type: "objekt", properties: [], required: "x", minimum: "3", enum: [], pattern: 5, items: 7, $ref: 9 },
    object({ a: { $ref: "https://example.com/x.json" }, b: { $ref: "#/nowhere" }, c: { $ref: "#" } }),
    object({ a: { pattern: "(?<=x)y", format: "no-such-format" }, b: { pattern: "(((" } }),
    { $id: "https://example.com/a", $schema: "https://example.com/unknown", $anchor: "x", $dynamicRef: "#x" },
    { allOf: [{ $ref: "#" }] },
    { $ref: "#" },
    JSON.parse(
      '{"properties":{"__proto__":{"type":"string"},"constructor":{"type":["string","object"]}},"default":{"__proto__":{"x":1}}}',
    ),
    {
      if: {},
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
      then: { type: "object" },
      else: false,
      not: { type: "string" },
      contains: {},
      propertyNames: { type: "string" },
    },
    { type: ["object", "object"], required: ["a", "a", 5, "__proto__"], default: null },
  ])("%j", async (schema) => {
    const outcome = await check(schema, { a: "y", b: 1 });
    expect(["valid", "invalid", "unusable"]).toContain(outcome.kind);
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });

  test("no schema is compiled beyond a bound: deeper parts of a larger one are not checked", async () => {
    let deep: Record<string, unknown> = { type: "string" };
    for (let depth = 0; depth < 5000; depth += 1) deep = { type: "object", properties: { x: deep } };
    expect(readSchema(deep).nodes).toBeLessThanOrEqual(1500);
    const wide = object(
      Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`p${n}`, { type: "string" }])),
    );
    expect(readSchema(wide).nodes).toBeLessThanOrEqual(1500);
    expect(await issuesOf({ ...wide, required: ["a"] }, {})).toEqual(["parameters.a is missing"]);
  });

  test("a check that takes too long ends, and the next caller is served", async () => {
    const pairs = object({ list: { type: "array", uniqueItems: true } });
    const list = Array.from({ length: 60_000 }, (_, n) => ({ n }));
    const slow = check(pairs, { list });
    const other = validator.check("somebody else", "other", async () => object({ a: { pattern: "^a$" } }), {
      a: "a",
    });
    expect((await slow).kind).toBe("timeout");
    expect((await other).kind).toBe("valid");
  });

  test("a pattern made to be slow is matched in linear time", async () => {
    const schema = object({ a: { pattern: "^(a+)+$" } });
    expect(await issuesOf(schema, { a: `${"a".repeat(50_000)}!` })).toHaveLength(1);
  });
});
