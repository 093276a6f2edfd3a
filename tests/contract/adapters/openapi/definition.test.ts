/** Conversion of a document to tools, ids, schemas and settings; refused documents. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AdapterModule, JSONSchema, ServiceDefinition, ToolDefinition } from "#sdk";
import { serviceDefinitionSchema } from "#sdk";
import { startAdapter } from "./exercise.ts";
import { compile } from "./samples.ts";
import { documentOf, toText } from "./service.ts";

// biome-ignore lint/suspicious/noExplicitAny: a schema is walked by what the test knows of it
type Loose = Record<string, any>;

let adapter: AdapterModule & AsyncDisposable;
beforeAll(async () => {
  adapter = await startAdapter();
});
afterAll(() => adapter[Symbol.asyncDispose]());

const define = (document: unknown): Promise<ServiceDefinition> =>
  adapter.generateDefinition(toText(document));
const inputOf = async (document: unknown) => (await define(document)).tools[0]?.inputSchema as Loose;
const outputOf = async (document: unknown) => (await define(document)).tools[0]?.outputSchema as Loose;
const jsonBody = (schema: unknown) => ({
  requestBody: { required: true, content: { "application/json": { schema } } },
});

test("a definition fits the contract, says the same each time, and survives JSON", async () => {
  const document = documentOf("/pets/{id}", { summary: "One pet", description: "Finds it." });
  const first = await define(document);
  expect(serviceDefinitionSchema.parse(JSON.parse(JSON.stringify(first)))).toEqual(first);
  expect(await define(document)).toEqual(first);
  expect(first).toMatchObject({
    name: "Test",
    tools: [{ id: "call", name: "One pet", description: "Finds it." }],
  });
});

test("ids are identifiers, from operationId or from method and path; collisions are numbered in order", async () => {
  const operation = { responses: {} };
  const { tools } = await define({
    openapi: "3.0.3",
    info: { title: "Ids", version: "1" },
    paths: {
      "/a": {
        get: { ...operation, operationId: "repos/list-for-org" },
        post: { ...operation, operationId: "repos.list for_org" },
      },
      "/pets/{petId}/toys": { get: operation, "x-note": {}, parameters: [] },
      "/b": { get: { ...operation, operationId: "2fa" }, put: { ...operation, operationId: "then" } },
      "/c": { get: { ...operation, operationId: "__proto__" }, put: { ...operation, operationId: "读取" } },
      "/d": {
        get: { ...operation, operationId: "café" },
        put: { ...operation, operationId: "repos_list_for_org" },
      },
    },
  });
  expect(tools.map(({ id }) => id)).toEqual([
    "repos_list_for_org",
    "repos_list_for_org_2",
    "get_pets_petId_toys",
    "_2fa",
    "then_",
    "__proto",
    "put_c",
    "cafe",
    "repos_list_for_org_3",
  ]);
});

test("every method but GET, HEAD, OPTIONS and TRACE is destructive, unless x-destructive says otherwise", async () => {
  const methods = ["get", "head", "options", "trace", "post", "put", "patch", "delete"];
  const { tools } = await define({
    openapi: "3.1.0",
    info: { title: "Methods", version: "1" },
    paths: {
      "/a": Object.fromEntries(methods.map((method) => [method, { operationId: method, responses: {} }])),
      "/b": {
        get: { operationId: "purge", "x-destructive": true, responses: {} },
        post: { operationId: "search", "x-destructive": false, responses: {} },
      },
    },
  });
  const destructive = tools.filter((tool) => tool.destructive).map(({ id }) => id);
  expect(destructive).toEqual(["post", "put", "patch", "delete", "purge"]);
});

test("the input has a slot per place; parameters of the path are merged and those of the operation win", async () => {
  const input = await inputOf({
    openapi: "3.0.0",
    info: { title: "Slots", version: "1" },
    paths: {
      "/x/{id}": {
        parameters: [
          { in: "path", name: "id", required: true, schema: { type: "string" } },
          { in: "query", name: "page", schema: { type: "string" } },
          { $ref: "#/components/parameters/Trace" },
        ],
        post: {
          parameters: [
            { in: "query", name: "page", required: true, schema: { type: "integer" } },
            { in: "cookie", name: "session", schema: { type: "string" } },
            { in: "header", name: "Content-Type", required: true, schema: { type: "string" } },
          ],
          requestBody: { content: { "application/json": { schema: { type: "object" } } } },
          responses: {},
        },
      },
    },
    components: { parameters: { Trace: { in: "header", name: "X-Trace", schema: { type: "string" } } } },
  });
  expect(input).toMatchObject({
    properties: {
      path: { properties: { id: { type: "string" } }, required: ["id"] },
      query: { properties: { page: { type: "integer" } }, required: ["page"] },
      headers: { properties: { "X-Trace": { type: "string" } } },
      cookies: { properties: { session: { type: "string" } } },
      body: { type: "object" },
    },
    required: ["path", "query"],
    additionalProperties: false,
  });
  expect(input.properties.headers.properties).not.toHaveProperty("Content-Type");
});

test("the output is one alternative per response that is a success, and they exclude each other", async () => {
  const output = await outputOf(
    documentOf("/x", {
      responses: {
        200: {
          description: "ok",
          content: { "application/json": { schema: { type: "array", items: { type: "integer" } } } },
        },
        "2XX": { description: "other", content: { "text/csv": {} } },
        "404": { description: "none" },
        default: { description: "error", content: { "image/png": {} } },
      },
    }),
  );
  const validate = compile(output);
  const headers = {};
  expect(validate({ status: 200, headers, body: [1] })).toBe(true);
  expect(validate({ status: 200, headers, body: "a,b" })).toBe(false);
  expect(validate({ status: 206, headers, body: "a,b" })).toBe(true);
  // These reject.
  expect(validate({ status: 404, headers, body: null })).toBe(false);
  expect(validate({ status: 500, headers, body: { contentType: "image/png", base64: "" } })).toBe(false);
});

test("the other responses are what a call fails with: one alternative per body, references and all", async () => {
  const problem = {
    description: "no",
    content: { "application/json": { schema: { $ref: "#/components/schemas/Problem" } } },
  };
  const output = await outputOf(
    documentOf(
      "/x",
      {
        responses: {
          200: { description: "ok" },
          404: problem,
          409: { description: "taken" },
          422: problem,
          "5XX": problem,
        },
      },
      {
        components: { schemas: { Problem: { type: "object", properties: { reason: { type: "string" } } } } },
      },
    ),
  );
  const part = (status: Loose, body: Loose) => ({
    type: "object",
    properties: { status, body },
    required: ["status", "body"],
  });
  expect(output["x-failures"]).toEqual({
    anyOf: [part({ type: "integer" }, { $ref: "#/$defs/Problem" }), part({ enum: [409] }, {})],
  });
  expect(output.$defs.Problem.properties).toEqual({ reason: { type: "string" } });
  const many = Object.fromEntries(
    Array.from({ length: 60 }, (_, index) => [
      400 + index,
      { description: "no", content: { "application/json": { schema: { const: "x".repeat(100) + index } } } },
    ]),
  );
  const bounded = await outputOf(documentOf("/x", { responses: { 200: { description: "ok" }, ...many } }));
  expect(bounded["x-failures"]).toEqual(part({ enum: Object.keys(many).map(Number) }, {}));
  expect(
    await outputOf(documentOf("/x", { responses: { default: { description: "any" } } })),
  ).not.toHaveProperty("x-failures");
});

test("what is read-only is none of a request's, and what is write-only none of a response's, allOf included", async () => {
  const schema = {
    allOf: [
      { $ref: "#/components/schemas/Base" },
      { type: "object", required: ["id", "name", "secret"], properties: { name: { type: "string" } } },
    ],
  };
  const { tools } = await define(
    documentOf(
      "/x",
      {
        ...jsonBody(schema),
        responses: { 200: { description: "", content: { "application/json": { schema } } } },
      },
      {
        openapi: "3.0.0",
        components: {
          schemas: {
            Base: {
              type: "object",
              required: ["id"],
              properties: {
                id: { type: "integer", readOnly: true },
                secret: { type: "string", writeOnly: true },
              },
            },
          },
        },
      },
      "post",
    ),
  );
  const tool = tools[0] as ToolDefinition;
  expect(compile(tool.inputSchema)({ body: { name: "a", secret: "b" } })).toBe(true);
  expect(compile(tool.inputSchema)({ body: { name: "a" } })).toBe(false);
  expect(compile(tool.outputSchema)({ status: 200, headers: {}, body: { id: 1, name: "a" } })).toBe(true);
  expect(compile(tool.outputSchema)({ status: 200, headers: {}, body: { name: "a" } })).toBe(false);
});

test("3.0 becomes 2020-12: nullable, exclusive bounds, one-value tuples of older drafts", async () => {
  const validate = compile(
    await inputOf(
      documentOf(
        "/x",
        jsonBody({
          type: "object",
          properties: {
            maybe: { type: "string", nullable: true },
            either: { nullable: true, allOf: [{ $ref: "#/components/schemas/Name" }] },
            ratio: {
              type: "number",
              minimum: 0,
              exclusiveMinimum: true,
              maximum: 1,
              exclusiveMaximum: false,
            },
            size: { type: "integer", enum: ["1", "2"] },
          },
        }),
        { openapi: "3.0.3", components: { schemas: { Name: { type: "string" } } } },
        "post",
      ),
    ),
  );
  expect(validate({ body: { maybe: null, either: null, ratio: 1, size: "2" } })).toBe(true);
  expect(validate({ body: { either: 1 } })).toBe(false);
  expect(validate({ body: { ratio: 0 } })).toBe(false);
});

test("a mapped discriminator chooses the branch", async () => {
  const validate = compile(
    await inputOf(
      documentOf(
        "/x",
        jsonBody({
          oneOf: [{ $ref: "#/components/schemas/Cat" }, { $ref: "#/components/schemas/Dog" }],
          discriminator: {
            propertyName: "kind",
            mapping: { cat: "#/components/schemas/Cat", dog: "#/components/schemas/Dog" },
          },
        }),
        {
          components: {
            schemas: {
              Cat: { type: "object", properties: { kind: { type: "string" }, lives: { type: "integer" } } },
              Dog: { type: "object", properties: { kind: { type: "string" }, lives: { type: "string" } } },
            },
          },
        },
        "post",
      ),
    ),
  );
  expect(validate({ body: { kind: "cat" } })).toBe(true);
  expect(validate({ body: { kind: "cat", lives: "nine" } })).toBe(false);
  expect(validate({ body: { kind: "bird" } })).toBe(false);
});

test("a default is told, not filled in: a host that fills in defaults must not undo what an update leaves alone", async () => {
  const input = await inputOf(
    documentOf(
      "/x",
      {
        parameters: [
          { in: "header", name: "Version", required: true, schema: { type: "string", default: "2022" } },
          { in: "query", name: "size", schema: { type: "integer", default: 30 } },
        ],
        ...jsonBody({ type: "object", properties: { private: { type: "boolean", default: false } } }),
      },
      {},
      "patch",
    ),
  );
  expect(input.properties.body.properties.private).toEqual({
    type: "boolean",
    description: "Default: false.",
  });
  expect(input.properties.query.properties.size).toEqual({ type: "integer", description: "Default: 30." });
  expect(input.properties.headers).toMatchObject({
    default: {},
    properties: { Version: { default: "2022" } },
  });
});

test("repeated references are written once, cyclic ones are cut with a note, and everything is self-contained", async () => {
  const person = { $ref: "#/components/schemas/Person" };
  const input = await inputOf(
    documentOf(
      "/x",
      jsonBody({
        type: "object",
        properties: { a: person, b: person, all: { type: "array", items: person } },
      }),
      {
        components: {
          schemas: {
            Person: {
              type: "object",
              required: ["name"],
              properties: {
                name: { type: "string" },
                boss: person,
                home: { $ref: "#/components/schemas/Home" },
              },
            },
            Home: { type: "object", properties: { owner: person } },
          },
        },
      },
      "post",
    ),
  );
  expect(Object.keys(input.$defs)).toEqual(["Person", "Home", "Person--cut"]);
  expect(input.$defs.Home.properties.owner).toEqual({ $ref: "#/$defs/Person--cut" });
  const cut = input.$defs["Person--cut"];
  expect(cut.description).toMatch(/Person again.*recursive.*cut/);
  expect(cut).toMatchObject({ type: "object", properties: { name: { type: "string" } }, required: ["name"] });
  expect(JSON.stringify(input.$defs.Person)).not.toContain('"#/$defs/Person"');
  expect(compile(input)({ body: { a: { name: "x", boss: { name: "y" } } } })).toBe(true);
});

test("schemas with wrong or foreign keywords still compile, and match what is meant", async () => {
  const input = await inputOf(
    documentOf(
      "/x",
      jsonBody({
        $schema: "http://json-schema.org/draft-04/schema#",
        $id: "https://elsewhere.example/schema",
        id: "x",
        type: "object",
        required: true,
        properties: {
          a: { type: "int", required: true, minLength: -1, pattern: "(?i)[" },
          b: { type: ["string", "strange"], enum: [] },
          c: { $dynamicRef: "#node", multipleOf: 0 },
          d: { type: "array", items: [{ type: "string" }] },
          e: "not a schema",
        },
        patternProperties: { "[": {} },
      }),
      {},
      "post",
    ),
  );
  const validate = compile(input);
  expect(validate({ body: { a: 1, b: "x", c: 0.5, d: ["x", 1] } })).toBe(true);
  expect(validate({ body: { a: "one" } })).toBe(false);
  expect(validate({ body: { d: [1] } })).toBe(false);
  expect(JSON.stringify(input)).not.toContain("elsewhere");
});

test("settings and secrets are described by the document", async () => {
  const { configSchema, secretsSchema } = await define(
    documentOf(
      "/x",
      {},
      {
        servers: [
          {
            url: "https://{region}.example.com/{base}",
            variables: { region: { default: "eu", enum: ["eu", "us"] }, base: { default: "v1" } },
          },
        ],
        components: {
          securitySchemes: {
            key: { type: "apiKey", in: "header", name: "X-Key" },
            user: { type: "http", scheme: "Basic" },
            token: { type: "http", scheme: "bearer" },
            machine: { type: "oauth2", flows: { clientCredentials: { tokenUrl: "/token", scopes: {} } } },
            login: { type: "openIdConnect", openIdConnectUrl: "https://example.com" },
            cert: { type: "mutualTLS" },
          },
        },
      },
    ),
  );
  expect(Object.keys(configSchema.properties as object)).toEqual([
    "serverUrl",
    "serverVar_region",
    "serverVar_base",
    "timeoutMs",
    "maxResponseBytes",
    "maxStreamMs",
    "maxStreamBytes",
    "operationFilter",
    "headers",
  ]);
  const fits = compile(configSchema);
  expect(fits({ serverVar_region: "us", timeoutMs: 1000, headers: { A: "b" } })).toBe(true);
  expect(fits({ serverVar_region: "mars" })).toBe(false);
  expect(fits({ serverUrl: "file:///etc/passwd" })).toBe(false);
  expect(Object.keys(secretsSchema.properties as object)).toEqual([
    "key",
    "user",
    "token",
    "machine",
    "login",
  ]);
  const holds = compile(secretsSchema);
  expect(
    holds({
      key: "k",
      user: { username: "u", password: "p" },
      machine: { clientId: "i", clientSecret: "s" },
    }),
  ).toBe(true);
  expect(holds({ machine: { clientId: "i" } })).toBe(false);
});

test("a document without a whole server URL asks for one", async () => {
  for (const servers of [undefined, [], [{ url: "/v1" }]]) {
    const { configSchema } = await define(documentOf("/x", {}, servers === undefined ? {} : { servers }));
    expect(configSchema.required).toEqual(["serverUrl"]);
  }
});

test("Swagger 2 and YAML are read", async () => {
  const definition = await define(`
swagger: "2.0"
info: {title: Old, version: 1.0.0}
host: api.example.com
basePath: /v2
schemes: [https]
consumes: [application/x-www-form-urlencoded]
securityDefinitions:
  key: {type: apiKey, in: query, name: api_key}
paths:
  /things/{id}:
    post:
      operationId: updateThing
      parameters:
        - {in: path, name: id, type: integer, required: true}
        - {in: query, name: tags, type: array, items: {type: string}, collectionFormat: multi}
        - {in: formData, name: title, type: string, required: true}
      responses:
        200: {description: ok, schema: {$ref: '#/definitions/Thing'}}
definitions:
  Thing: {type: object, properties: {at: {type: string, format: date}}}
`);
  expect(definition.adapterDomain).toMatchObject({ server: { url: "https://api.example.com/v2" } });
  expect(definition.tools).toMatchObject([
    {
      id: "updateThing",
      inputSchema: {
        properties: {
          path: { properties: { id: { type: "integer" } } },
          query: { properties: { tags: { type: "array" } } },
          body: { properties: { title: { type: "string" } }, required: ["title"] },
        },
      },
      adapterDomain: { body: { kind: "form" } },
    },
  ]);
});

test.each([
  ["nothing", "", /neither JSON nor valid YAML.*empty/],
  ["text", "hello", /Expected an OpenAPI document, found plain text/],
  ["a list", "[]", /Expected an OpenAPI document, found a list/],
  ["broken JSON", '{"openapi": "3.0.0",', /not valid JSON/],
  ["broken YAML", "a: [1,\nb: {", /neither JSON nor valid YAML/],
  ["another format", "{}", /neither "openapi" nor "swagger"/],
  ["another version", '{"openapi":"4.0.0"}', /Expected OpenAPI 3.0 or 3.1 or Swagger 2.0/],
  ["swagger 1", '{"swagger":"1.2"}', /Expected swagger: "2.0"/],
  ["no API", '{"openapi":"3.0.0"}', /no paths/],
  ["a tag that runs code", "a: !!js/function 'function(){}'", /unknown scalar tag/],
])("%s is refused with a message", async (_name, text, message) => {
  await expect(adapter.generateDefinition(text)).rejects.toThrow(message);
});

test.each([
  ["https://evil.example/schema.json"],
  ["http://169.254.169.254/latest/meta-data"],
  ["file:///etc/passwd"],
  ["../../etc/passwd"],
  ["other.yaml#/components/schemas/A"],
])("a reference to %s is refused by name and nothing is fetched", async (reference) => {
  await using server = await import("./service.ts").then(({ startServer }) => startServer());
  const refused = documentOf("/x", jsonBody({ properties: { a: { $ref: reference } } }), {}, "post");
  await expect(define(refused)).rejects.toThrow(
    `refers to ${JSON.stringify(reference)}, which is outside of the document`,
  );
  const loopback = documentOf("/x", jsonBody({ $ref: `${server.url}/schema` }), {}, "post");
  await expect(define(loopback)).rejects.toThrow(/outside of the document/);
  expect(server.received).toEqual([]);
});

test("a reference into nowhere is refused by name", async () => {
  const missing = documentOf("/x", jsonBody({ $ref: "#/components/schemas/Missing" }), {}, "post");
  await expect(define(missing)).rejects.toThrow(
    /"#\/components\/schemas\/Missing", which the document does not have/,
  );
});

test("an operation that cannot be read is left out with its reason; the others are there under their ids", async () => {
  const document = documentOf("/x", jsonBody({ $ref: "other.json#/X" }), {}, "post");
  const good = { "/y": { get: { operationId: "good", responses: {} } }, "/z": { $ref: "./paths-z.json" } };
  const made = await define({ ...document, paths: { ...(document.paths as object), ...good } });
  expect(made.tools.map(({ id }) => id)).toEqual(["good"]);
  expect(made.problems).toEqual([
    expect.stringMatching(/^The path \/z is left out\. It refers to ".\/paths-z.json"/),
    expect.stringMatching(/^POST \/x \(\w+\) is left out\. It refers to "other.json#\/X"/),
  ]);
});

test("a bomb of aliases, endless nesting and a document that contains itself are refused soon", async () => {
  const levels = Array.from({ length: 12 }, (_, level) =>
    level === 0
      ? "a0: &a0 [x,x,x,x,x,x,x,x,x,x]"
      : `a${level}: &a${level} [${Array(10)
          .fill(`*a${level - 1}`)
          .join(",")}]`,
  );
  const head = "openapi: 3.0.0\ninfo: {title: x, version: x}\npaths: {}\n";
  await expect(define(head + levels.join("\n"))).rejects.toThrow(/more than \d+ values, aliases written out/);
  await expect(define(`${head}x: &x {y: *x}`)).rejects.toThrow(/contains itself|nests deeper/);
  await expect(
    define(`{"openapi":"3.0.0","paths":${"[".repeat(100_000)}${"]".repeat(100_000)}}`),
  ).rejects.toThrow(/nests deeper than 150 levels/);
  await expect(define(`${head}x: ${"[".repeat(5000)}`)).rejects.toThrow(/maxDepth/);
  await expect(define(head + "#".repeat(31 * 1024 * 1024))).rejects.toThrow(/the limit is 31457280/);
});

test("a document of millions of values is refused before they are built", async () => {
  const hungry = `{"openapi":"3.0.0","paths":{},"x":[${"{},".repeat(9_000_000)}0]}`;
  await expect(define(hungry)).rejects.toThrow(/more than \d+ values/);
  expect((await define(documentOf("/x", {}))).tools).toHaveLength(1);
});

test("names of the object prototype, NUL and lone surrogates do no harm", async () => {
  const text = `{"openapi":"3.1.0","info":{"title":"a\\u0000b\\ud800","version":"1"},
    "__proto__":{"polluted":true},
    "paths":{"/x":{"__proto__":{"get":{}},"post":{"operationId":"constructor","__proto__":{"polluted":true},
      "parameters":[{"in":"query","name":"__proto__","schema":{"type":"string"}}],
      "security":[{"constructor":[]}],
      "requestBody":{"content":{"application/json":{"schema":{"type":"object","required":["toString"],
        "properties":{"toString":{"type":"string"},"__proto__":{"type":"integer"}}}}}},"responses":{}}}}}`;
  const definition = await define(text);
  expect(definition.name).toBe("a\ufffdb\ufffd");
  expect(definition.tools.map(({ id }) => id)).toEqual(["constructor_"]);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  expect(compile(definition.tools[0]?.inputSchema as JSONSchema)({ body: {} })).toBe(false);
  expect(JSON.stringify(definition)).not.toMatch(/\\u0000|\\ud800/);
});

test("thousands of equal ids, equal names and long lists take no longer than others", async () => {
  const paths = Object.fromEntries(
    Array.from({ length: 8000 }, (_, index) => [
      `/p${index}`,
      { get: { operationId: "same", responses: {} } },
    ]),
  );
  const values = Array.from({ length: 200_000 }, (_, index) => `v${index}`);
  const document = { openapi: "3.1.0", info: { title: "Many", version: "1" }, paths };
  Object.assign(paths, {
    "/last": { get: { parameters: [{ in: "query", name: "q", schema: { enum: values } }] } },
  });
  const { tools } = await define(document);
  expect(tools).toHaveLength(8001);
  expect(new Set(tools.map(({ id }) => id)).size).toBe(8001);
  expect(tools[7999]?.id).toBe("same_8000");
});

test("schemas that refer to everything stay within their budget", async () => {
  const schemas = Object.fromEntries(
    Array.from({ length: 250 }, (_, index) => [
      `S${index}`,
      {
        type: "object",
        description: "d".repeat(500),
        properties: Object.fromEntries(
          Array.from({ length: 10 }, (_, other) => [
            `p${other}`,
            { $ref: `#/components/schemas/S${(index * 7 + other * 13) % 250}` },
          ]),
        ),
      },
    ]),
  );
  const all = { $ref: "#/components/schemas/S0" };
  const tool = (
    await define(
      documentOf(
        "/x",
        {
          ...jsonBody(all),
          responses: { 200: { description: "", content: { "application/json": { schema: all } } } },
        },
        { components: { schemas } },
        "post",
      ),
    )
  ).tools[0] as ToolDefinition;
  expect(JSON.stringify(tool.outputSchema).length).toBeLessThan(128 * 1024);
  expect(JSON.stringify(tool.inputSchema).length).toBeLessThan(1024 * 1024);
  expect(JSON.stringify(tool.outputSchema)).toContain("Left out here");
  compile(tool.inputSchema);
  compile(tool.outputSchema);
});
