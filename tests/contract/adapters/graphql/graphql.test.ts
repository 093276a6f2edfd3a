/** The GraphQL adapter against graphql-yoga. */
import { Ajv2020 } from "ajv/dist/2020.js";
import { buildSchema, introspectionFromSchema } from "graphql";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ServiceDefinition, ToolDefinition } from "#sdk";
import type { HostedAdapter } from "../host.ts";
import { type HttpServer, hostGraphql, serve } from "./host.ts";
import { createRichServer, RICH_SDL } from "./schema.ts";

let server: HttpServer;
let host: HostedAdapter;
let definition: ServiceDefinition;
const call = (toolId: string, parameters?: object) => host.call("pets", toolId, parameters);
const tool = (id: string) => definition.tools.find((candidate) => candidate.id === id) as ToolDefinition;
const documentOf = (id: string) => (tool(id).adapterDomain as { document: string }).document;

beforeAll(async () => {
  server = await serve(createRichServer());
  host = await hostGraphql();
  definition = await host.install("pets", { endpoint: server.url, name: "Pets" });
});
afterAll(async () => {
  await host?.adapter.teardown();
  await server?.[Symbol.asyncDispose]();
});

/** Parameters for fields that need some. */
const PARAMETERS: Record<string, object> = {
  person: { by: { name: "Ada" } },
  node: { id: "d1" },
  matrix: { rows: [[1, 2], [3]] },
  select: { select: "x" },
  addPet: { input: { name: "Kim", species: "DOG" } },
};
const OPERATIONS = 19;
const EXPECTED_TO_FAIL = new Set(["fails", "failsPartly"]);

describe("definitions", () => {
  test("one tool per query and mutation field, mutations destructive, no subscriptions", () => {
    expect(definition.tools.map(({ id, destructive }) => `${destructive ? "!" : ""}${id}`)).toEqual([
      "people",
      "person",
      "node",
      "named",
      "pets",
      "matrix",
      "echo",
      "count",
      "species",
      "nothing",
      "select",
      "old",
      "fails",
      "failsPartly",
      "both_query",
      "constructor_",
      "!addPet",
      "!removeAll",
      "!both_mutation",
    ]);
    expect(tool("people").description).toBe("Everybody.");
    expect(tool("old").description).toContain("Deprecated: use count");
    expect(definition.name).toBe("Pets");
  });

  test("every form of definition gives the same operations", async () => {
    const introspection = introspectionFromSchema(buildSchema(RICH_SDL), {
      oneOf: true,
      inputValueDeprecation: true,
    });
    const documents = (made: ServiceDefinition) =>
      made.tools.map(({ id, adapterDomain }) => `${id}: ${(adapterDomain as { document: string }).document}`);
    const forms = [
      { endpoint: server.url, introspection },
      { endpoint: server.url, introspection: { data: introspection } },
      { endpoint: server.url, sdl: RICH_SDL },
      introspection,
      { data: introspection },
      RICH_SDL,
    ];
    for (const form of forms) {
      const input = typeof form === "string" ? form : JSON.stringify(form);
      const made = await host.adapter.generateDefinition(input);
      expect(documents(made)).toEqual(documents(definition));
      expect(await host.adapter.generateDefinition(input)).toEqual(made);
    }
  });

  test("names that mean something to every object become harmless ids", async () => {
    const made = await host.adapter.generateDefinition("type Query { then: Int toString: Int then_: Int }");
    expect(made.tools.map((each) => each.id)).toEqual(["then__", "toString_", "then_"]);
  });

  test("a schema without an endpoint needs one in the configuration", async () => {
    const made = await host.adapter.generateDefinition(RICH_SDL);
    expect(made.configSchema).toMatchObject({ required: ["endpoint"] });
    await expect(host.install("bare", RICH_SDL)).rejects.toThrow("config.endpoint: expected string");
    await host.install("bare", RICH_SDL, { config: { endpoint: server.url } });
    expect(await host.call("bare", "count")).toEqual({ data: 2 });
  });
});

describe("calls", () => {
  test("every generated tool is accepted, and its answer fits its output schema", async () => {
    const ajv = new Ajv2020({ strict: false });
    let called = 0;
    let accepted = 0;
    for (const { id, inputSchema, outputSchema } of definition.tools) {
      const parameters = PARAMETERS[id] ?? {};
      expect(ajv.validate(inputSchema, parameters), `${id}: ${ajv.errorsText()}`).toBe(true);
      called += 1;
      const answer = await call(id, parameters).catch((error: Error) => error);
      if (EXPECTED_TO_FAIL.has(id)) {
        expect(answer).toMatchObject({ message: expect.stringContaining("is out") });
      } else {
        expect(answer, id).not.toBeInstanceOf(Error);
        expect(ajv.validate(outputSchema, answer), `${id}: ${ajv.errorsText()}`).toBe(true);
      }
      accepted += 1;
    }
    console.log(
      `graphql rich schema: operations ${OPERATIONS}, imported ${definition.tools.length}, called ${called}, accepted ${accepted}`,
    );
    expect(accepted).toBe(OPERATIONS);
  });

  test("the selection goes to its depth, leaves out cycles, pages and what needs arguments, and tells unions apart", async () => {
    expect(documentOf("person")).toBe(
      [
        "query person($by: ByOne!) {",
        "  person(by: $by) {",
        "    id",
        "    name",
        "    born",
        "    extra",
        "    pets {",
        "      __typename",
        "      ... on Dog {",
        "        id",
        "        name",
        "        age",
        "        volume",
        "      }",
        "      ... on Cat {",
        "        id",
        "        name",
        "        age_Cat: age",
        "        lives",
        "      }",
        "    }",
        "    address {",
        "      street",
        "      city {",
        "        name",
        "      }",
        "    }",
        "  }",
        "}",
      ].join("\n"),
    );
    expect(await call("pets")).toEqual({
      data: [
        expect.objectContaining({ __typename: "Dog", age: 3, volume: 9.5 }),
        expect.objectContaining({ __typename: "Cat", age_Cat: "old", lives: 9 }),
      ],
    });
  });

  test("depth and number of fields are settings of the module", async () => {
    await using shallow = await hostGraphql({ config: { maxDepth: 1, maxFields: 3 } });
    const made = await shallow.install("s", { endpoint: server.url });
    const person = made.tools.find((candidate) => candidate.id === "person")?.adapterDomain as {
      document: string;
    };
    expect(person.document).toBe(
      "query person($by: ByOne!) {\n  person(by: $by) {\n    id\n    name\n    born\n  }\n}",
    );
  });

  test("values of every kind arrive as they were given", async () => {
    const given = {
      int: -5,
      float: 1.5,
      text: 'q"\u2028',
      flag: false,
      id: "7",
      when: "2020-01-01",
      json: { deep: [{ $ref: 1 }, null] },
      species: "CAT",
    };
    expect(await call("echo", given)).toEqual({ data: given });
    expect(await call("echo", { json: null })).toEqual({ data: { json: null } });
    expect(await call("people", {})).toMatchObject({ data: [{ name: "Ada" }, { name: "Bob" }] });
    expect(
      await call("people", { first: 1, filter: { and: [{ not: { species: "DOG", age: { to: 3 } } }] } }),
    ).toMatchObject({
      data: [{ name: "Ada" }],
    });
    expect(await call("addPet", { input: { name: "Kim" } })).toMatchObject({ data: { name: "Kim" } });
  });

  test("a null without an error is an answer; an error is thrown, with the data that came beside it", async () => {
    expect(await call("nothing")).toEqual({ data: null });
    expect(await call("person", { by: { id: "nobody" } })).toEqual({ data: null });
    await expect(call("fails")).rejects.toMatchObject({
      code: "graphql_error",
      message: "the person is out",
    });
    const partly = {
      data: [{ name: "Ada" }, null],
      errors: [{ message: "this one is out", path: ["failsPartly", 1] }],
    };
    await expect(call("failsPartly")).rejects.toMatchObject({ code: "graphql_error", answer: partly });
  });

  test("secrets go as headers, with every request", async () => {
    await host.install(
      "secret",
      { endpoint: server.url },
      { secrets: { bearerToken: "tok-1234", headers: { "X-Api-Key": "key-1234" } } },
    );
    await host.call("secret", "count");
    expect(server.headers.at(-1)).toMatchObject({
      authorization: "Bearer tok-1234",
      "x-api-key": "key-1234",
    });
  });
});

describe("parameters", () => {
  const ajv = new Ajv2020({ strict: false });

  test.each([
    ["person", { by: {} }, false],
    ["person", { by: { id: "1", name: "x" } }, false],
    ["person", { by: { id: 1 } }, true],
    ["people", { filter: { and: [{ or: [{ not: { name: null } }] }] } }, true],
    ["people", { filter: { and: [{ or: [{ nott: {} }] }] } }, false],
    ["people", { filter: { age: { from: 2.5 } } }, false],
    ["people", { first: null }, false],
    ["pets", { species: ["DOG"] }, true],
    ["pets", { species: ["BIRD"] }, false],
    ["matrix", { rows: [[1], [2, null]] }, false],
    ["addPet", {}, false],
    ["addPet", { input: { name: "x", species: null } }, false],
    ["addPet", { input: { name: "x", tags: ["a"], meta: [1, { a: 1 }] } }, true],
    ["echo", { int: 2 ** 31 }, false],
    ["echo", { unknown: 1 }, false],
  ])("%s(%j) fits the input schema: %s", (id, parameters, fits) => {
    expect(ajv.validate(tool(id).inputSchema, parameters)).toBe(fits);
  });

  test.each([
    ["person", { by: {} }, "exactly one"],
    ["person", {}, "by"],
    ["people", { filter: { nott: 1 } }, "nott"],
    ["pets", { species: ["BIRD"] }, "BIRD"],
    ["echo", { int: 2 ** 31 }, "32-bit"],
    ["addPet", { input: { name: 5 } }, "String"],
  ])("%s(%j) is refused by the adapter too, and never sent", async (id, parameters, message) => {
    const before = server.headers.length;
    await expect(call(id, parameters)).rejects.toMatchObject({
      code: "graphql_bad_parameters",
      message: expect.stringContaining(message),
    });
    expect(server.headers).toHaveLength(before);
  });
});

describe("a caller's own selection", () => {
  test("chooses fields, with arguments, aliases and fragments", async () => {
    const select =
      '{ who: name greeting(to: "you") friends(first: 1) { name boss { name } } pets { ... on Dog { volume } } }';
    expect(await call("person", { by: { id: "p1" }, select })).toEqual({
      data: {
        who: "Ada",
        greeting: "Hello you",
        friends: [{ name: "Bob", boss: { name: "Ada" } }],
        pets: [{ volume: 9.5 }],
      },
    });
    expect(await call("person", { by: { id: "p1" }, select: "name" })).toEqual({ data: { name: "Ada" } });
  });

  test("has another name where the field has an argument of that name", async () => {
    expect(tool("select").inputSchema.properties).toMatchObject({
      select: { type: "string" },
      select_: { type: "string" },
    });
    expect(await call("select", { select: "argument", select_: "{ id }" })).toEqual({ data: { id: "p1" } });
    expect(tool("count").inputSchema.properties).toEqual({});
  });

  test.each([
    ["another operation", "{ id } } mutation { removeAll"],
    ["a whole document", "query { removeAll }"],
    ["a mutation", "mutation { removeAll }"],
    ["a named operation", "{ id } query X { count }"],
    ["a sibling of the field", "{ id } count"],
    ["a fragment definition", "{ ...F } fragment F on Person { id }"],
    ["a field that is not there", "{ password }"],
    ["introspection", "{ __schema { types { name } } }"],
    ["a variable", "{ greeting(to: $by) }"],
    ["an undeclared variable", "{ greeting(to: $x) }"],
    ["a missing argument", "{ greeting }"],
    ["an object without fields", "{ boss }"],
    ["fields of a leaf", "{ name { x } }"],
    ["an impossible type", "{ ... on Cat { lives } }"],
    ["a foreign directive", "{ id @defer }"],
    ["a deferred fragment", "{ ... @defer { id } }"],
    ["conflicting names", "{ a: id a: name }"],
    ["nothing", "{ }"],
    ["emptiness", "  "],
    ["no text", 7],
    ["an escape into the arguments", ") { id } count(x: 1"],
    ["a comment that swallows", "# }\n"],
    ["depth without end", `${"{ boss ".repeat(5000)}{ id }${"}".repeat(5000)}`],
    ["lists without end", `{ greeting(to: ${"[".repeat(100_000)}) }`],
    ["size without end", `{ ${"id ".repeat(10_000)} }`],
    ["many names for one field", `{ ${Array.from({ length: 1500 }, (_, n) => `a${n}: id`).join(" ")} }`],
  ])("cannot be %s", async (_name, select) => {
    const before = server.headers.length;
    await expect(call("person", { by: { id: "p1" }, select })).rejects.toMatchObject({
      code: "graphql_bad_parameters",
    });
    expect(server.headers).toHaveLength(before);
  });
});
