import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import { builtin, type ModulesServer, send, startModulesServer } from "./modules-server.ts";
import { ScriptedEnvironment } from "./scripted-environment.ts";

const SCHEMA = {
  type: "object",
  properties: {
    memoryMb: { type: "integer", minimum: 16, maximum: 512, default: 128 },
    level: { enum: ["strict", "standard"] },
    pool: { type: "object", properties: { min: { type: "integer" }, max: { type: "integer" } } },
    tags: { type: "array", items: { type: "string" } },
    url: { type: "string", format: "uri" },
    any: {},
  },
  additionalProperties: false,
};

let database: TestDatabase;
let server: ModulesServer;
const ID = "typescript-ivm";

beforeAll(async () => {
  database = await createTestDatabase();
  server = await startModulesServer({
    databaseUrl: database.url,
    builtins: [
      builtin({ id: "typescript-process" }, () => new ScriptedEnvironment()),
      builtin({ id: ID, configSchema: SCHEMA }, () => new ScriptedEnvironment()),
    ],
  });
});
afterAll(async () => {
  await server?.stop();
  await database?.drop();
});
beforeEach(async () => {
  await server.pool`delete from module_settings`;
});

function patch(operations: unknown, headers: Record<string, string> = {}) {
  return send(server, "PATCH", `/modules/${ID}/config`, operations, headers);
}
async function readConfig() {
  const { body, headers } = await send<{ config: unknown; outdated: string[] }>(
    server,
    "GET",
    `/modules/${ID}/config`,
  );
  return { ...body, etag: headers.get("etag") };
}

test("every operation of JSON Patch, applied as a whole", async () => {
  const answer = await patch([
    { op: "add", path: "/pool", value: { min: 1 } },
    { op: "add", path: "/pool/max", value: 4 },
    { op: "replace", path: "/pool/min", value: 2 },
    { op: "add", path: "/tags", value: ["a", "c"] },
    { op: "add", path: "/tags/1", value: "b" },
    { op: "add", path: "/tags/-", value: "d" },
    { op: "remove", path: "/tags/0" },
    { op: "copy", from: "/tags", path: "/any" },
    { op: "move", from: "/any/0", path: "/tags/0" },
    { op: "test", path: "/pool", value: { max: 4, min: 2 } },
  ]);
  expect(answer.status).toBe(200);
  expect(answer.body).toEqual({
    config: { pool: { min: 2, max: 4 }, tags: ["b", "b", "c", "d"], any: ["c", "d"] },
    outdated: [],
  });
  expect(answer.headers.get("etag")).toBe('"1"');
  expect((await readConfig()).etag).toBe('"1"');
});

test("the media type of JSON Patch is accepted beside plain JSON", async () => {
  const operations = JSON.stringify([{ op: "add", path: "/memoryMb", value: 64 }]);
  expect((await patch(operations, { "content-type": "application/json-patch+json" })).status).toBe(200);
  expect((await patch(operations, { "content-type": "text/plain" })).status).toBe(415);
});

test("keys with slashes, tildes and dots, and text with every character, survive", async () => {
  const text = "\0 \u2028 \ud83d\ude00 */ \u007f";
  const answer = await patch([{ op: "add", path: "/any", value: { "a/b": { "c~d.e": text } } }]);
  expect(answer.status).toBe(200);
  expect((await patch([{ op: "replace", path: "/any/a~1b/c~0d.e", value: [text] }])).status).toBe(200);
  expect((await readConfig()).config).toEqual({ any: { "a/b": { "c~d.e": [text] } } });
});

test("a result that does not match the schema is refused with every reason, and nothing is stored", async () => {
  const answer = await patch([
    { op: "add", path: "/memoryMb", value: 8 },
    { op: "add", path: "/level", value: "lax" },
    { op: "add", path: "/pool", value: { min: "two" } },
    { op: "add", path: "/colour", value: "red" },
    { op: "add", path: "/url", value: "no url" },
  ]);
  expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"]);
  expect(answer.body.issues).toEqual(
    expect.arrayContaining([
      { path: "config.memoryMb", message: "must be >= 16" },
      { path: "config.level", message: expect.stringContaining('"strict","standard"') },
      { path: "config.pool.min", message: "must be integer" },
      { path: "config.colour", message: "is not a setting of this module" },
      { path: "config.url", message: expect.stringContaining("uri") },
    ]),
  );
  expect(await readConfig()).toEqual({ config: {}, outdated: [], etag: '"0"' });
});

test("a module without a schema has no settings", async () => {
  const schema = await send(server, "GET", "/modules/typescript-process/config/schema");
  expect(schema.body).toEqual({
    configSchema: { type: "object", properties: {}, additionalProperties: false },
  });
  const answer = await send(server, "PATCH", "/modules/typescript-process/config", [
    { op: "add", path: "/a", value: 1 },
  ]);
  expect(answer.body.code).toBe("invalid_request");
});

test("the schema is answered as the module wrote it", async () => {
  expect((await send(server, "GET", `/modules/${ID}/config/schema`)).body).toEqual({ configSchema: SCHEMA });
});

test("settings the schema has dropped are listed by pointer", async () => {
  await server.pool`insert into module_settings (module_id, config, version)
    values (${ID}, ${JSON.stringify({ memoryMb: 9999, "a/b": 1, pool: { min: 1.5 } })}::text::json, 3)`;
  expect(await readConfig()).toEqual({
    config: { memoryMb: 9999, "a/b": 1, pool: { min: 1.5 } },
    outdated: ["/a~1b", "/memoryMb", "/pool/min"],
    etag: '"3"',
  });
});

describe("concurrent changes", () => {
  test("of two with the same ETag one wins, the other answers 412 and changes nothing", async () => {
    const etag = (await readConfig()).etag ?? "";
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        patch([{ op: "add", path: "/memoryMb", value: 100 + index }], { "if-match": etag }),
      ),
    );
    const winners = answers.filter((answer) => answer.status === 200);
    expect(winners).toHaveLength(1);
    for (const loser of answers.filter((answer) => answer !== winners[0])) {
      expect([loser.status, loser.body.code]).toEqual([412, "precondition_failed"]);
    }
    expect((await readConfig()).config).toEqual(winners[0]?.body.config);
  });

  test("without If-Match all are applied, one after another", async () => {
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, index) => patch([{ op: "add", path: "/any", value: index }])),
    );
    expect(answers.map((answer) => answer.status)).toEqual(Array(6).fill(200));
    expect((await readConfig()).etag).toBe('"6"');
  });

  test("a change by another server in between answers 412", async () => {
    await server.pool`create function test_race() returns trigger language plpgsql as $$
      begin new.version := old.version; return null; end $$`;
    await patch([{ op: "add", path: "/memoryMb", value: 64 }]);
    await server.pool`create trigger test_race before update on module_settings for each row execute function test_race()`;
    try {
      const answer = await patch([{ op: "add", path: "/memoryMb", value: 65 }]);
      expect([answer.status, answer.body.code]).toEqual([412, "precondition_failed"]);
    } finally {
      await server.pool`drop trigger test_race on module_settings`;
      await server.pool`drop function test_race`;
    }
  });

  test.each([
    ["*", 200],
    ['"0"', 200],
    ['"7", "0"', 200],
    ['"7"', 412],
    ['W/"0"', 412],
    ["0", 400],
    ['"0', 400],
    [`"${"x".repeat(1200)}"`, 400],
  ])("If-Match: %.20s answers %i", async (header, status) => {
    expect((await patch([{ op: "add", path: "/memoryMb", value: 64 }], { "if-match": header })).status).toBe(
      status,
    );
  });

  test("a test operation that does not hold answers 412", async () => {
    const answer = await patch([
      { op: "add", path: "/memoryMb", value: 64 },
      { op: "test", path: "/memoryMb", value: 65 },
    ]);
    expect([answer.status, answer.body.code]).toEqual([412, "precondition_failed"]);
    expect((await readConfig()).config).toEqual({});
  });
});

describe("hostile patches", () => {
  const hostile: [string, unknown][] = [
    ["no list", { op: "add", path: "/memoryMb", value: 64 }],
    ["an empty list", []],
    ["null", null],
    ["an unknown operation", [{ op: "merge", path: "/any", value: 1 }]],
    ["no value", [{ op: "add", path: "/any" }]],
    ["no path", [{ op: "remove" }]],
    ["a path without a slash", [{ op: "add", path: "any", value: 1 }]],
    ["a path with a wrong escape", [{ op: "add", path: "/any~2", value: 1 }]],
    ["__proto__", [{ op: "add", path: "/__proto__/polluted", value: 1 }]],
    ["__proto__ escaped", [{ op: "add", path: "/any/__proto__", value: { polluted: 1 } }]],
    ["constructor.prototype", [{ op: "add", path: "/constructor/prototype/polluted", value: 1 }]],
    ["constructor", [{ op: "add", path: "/constructor/polluted", value: 1 }]],
    ["an inherited method", [{ op: "add", path: "/toString/polluted", value: 1 }]],
    ["copy from a prototype", [{ op: "copy", from: "/__proto__", path: "/any" }]],
    [
      "a path through a string",
      [
        { op: "add", path: "/any", value: "x" },
        { op: "add", path: "/any/length", value: 1 },
      ],
    ],
    ["a path through nothing", [{ op: "add", path: "/any/a/b/c", value: 1 }]],
    ["removal of nothing", [{ op: "remove", path: "/any" }]],
    ["replacement of nothing", [{ op: "replace", path: "/any", value: 1 }]],
    [
      "an index that is none",
      [
        { op: "add", path: "/tags", value: [] },
        { op: "add", path: "/tags/01", value: "x" },
      ],
    ],
    [
      "an index out of bounds",
      [
        { op: "add", path: "/tags", value: [] },
        { op: "add", path: "/tags/4000000000", value: "x" },
      ],
    ],
    [
      "a move into itself",
      [
        { op: "add", path: "/any", value: {} },
        { op: "move", from: "/any", path: "/any/a" },
      ],
    ],
    ["removal of the whole", [{ op: "remove", path: "" }]],
    ["a text as the whole", [{ op: "replace", path: "", value: "x" }]],
    ["a list as the whole", [{ op: "replace", path: "", value: [] }]],
    ["too many operations", Array.from({ length: 101 }, () => ({ op: "add", path: "/any", value: 1 }))],
    ["a very long path", [{ op: "add", path: `/${"a".repeat(2000)}`, value: 1 }]],
    ["a very deep path", [{ op: "add", path: "/a".repeat(100), value: 1 }]],
    ["a large value", [{ op: "add", path: "/any", value: "x".repeat(70_000) }]],
    [
      "copies that double",
      [
        { op: "add", path: "/any", value: { a: "x".repeat(100) } },
        ...Array.from({ length: 60 }, (_, index) => ({ op: "copy", from: "/any", path: `/any/b${index}` })),
      ],
    ],
  ];
  test.each(hostile)(
    "%s is refused, quickly, and nothing is stored or changed elsewhere",
    async (_, operations) => {
      const before = performance.now();
      const answer = await patch(operations);
      expect(answer.status).toBe(400);
      expect(answer.body.code).toBe("invalid_request");
      expect(performance.now() - before).toBeLessThan(5000);
      expect((await readConfig()).config).toEqual({});
      expect(({} as Record<string, unknown>).polluted).toBeUndefined();
      expect((Object as unknown as Record<string, unknown>).polluted).toBeUndefined();
      expect((Object.prototype.toString as unknown as Record<string, unknown>).polluted).toBeUndefined();
    },
  );

  test("values that carry __proto__ or nest too deeply are refused before they are parsed", async () => {
    for (const text of [
      '[{"op":"add","path":"/any","value":{"__proto__":{"polluted":1}}}]',
      `[{"op":"add","path":"/any","value":${"[".repeat(2000)}${"]".repeat(2000)}}]`,
      '[{"op":"add","path":"/any","value":1}',
    ]) {
      const answer = await patch(text);
      expect([answer.status, answer.body.code]).toEqual([400, "invalid_json"]);
    }
    expect((await patch(`[${" ".repeat(1024 * 1024)}]`)).status).toBe(413);
  });
});
