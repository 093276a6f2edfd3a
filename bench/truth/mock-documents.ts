/**
 * OpenAPI documents of the mock API: an ordinary one (service `m`), and one with mistakes of real documents (service
 * `odd`).
 */

type Json = Record<string, unknown>;

const json = (schema: Json) => ({ description: "", content: { "application/json": { schema } } });
const ok = (schema: Json = {}) => ({ 200: json(schema) });
const object = (properties: Json, required: string[] = []) => ({ type: "object", properties, required });
const takes = (schema: Json) => ({ required: true, content: { "application/json": { schema } } });
const query = (name: string, schema: Json, required = false) => ({ name, in: "query", schema, required });
const path = (name: string, schema: Json) => ({ name, in: "path", schema, required: true });
const INT64 = { type: "integer", format: "int64" };
const get = (operationId: string, rest: Json = {}) => ({ get: { operationId, responses: ok(), ...rest } });
const post = (operationId: string, schema: Json, rest: Json = {}) => ({
  post: { operationId, requestBody: takes(schema), responses: ok(), ...rest },
});

export function describeApi(url: string): Json {
  return {
    openapi: "3.1.0",
    info: { title: "Mock", version: "1" },
    servers: [{ url: `${url}/api` }],
    paths: {
      "/put": post("put", object({ x: {} }, ["x"])),
      "/row": get("row", { responses: ok(object({ id: INT64, n: { type: "integer" } })) }),
      "/saveRow": post("saveRow", object({ id: INT64 }, ["id"])),
      "/gone": get("gone"),
      "/fail": get("fail", { responses: ok(object({ items: { type: "array", items: {} } })) }),
      "/teapot": get("teapot"),
      "/clear": post("clear", object({ reason: { type: "string" } }, ["reason"])),
      "/never": get("never"),
      "/items": get("items", {
        parameters: [query("page", { type: "integer" })],
        responses: ok(
          object({
            items: {
              type: "array",
              items: object({
                id: { type: "integer" },
                title: { type: "string" },
                done: { type: "boolean" },
              }),
            },
            next: { type: ["integer", "null"] },
          }),
        ),
      }),
      "/users/{id}": get("user", {
        parameters: [path("id", { type: "integer" })],
        responses: {
          ...ok(object({ id: { type: "integer" }, name: { type: "string" } })),
          404: json(object({ error: { type: "string" } })),
        },
      }),
      "/flaky": get("flaky"),
      "/echo": post("echo", {}),
      "/slow": get("slow", { parameters: [query("ms", { type: "integer" }, true)] }),
      "/tickets": post("openTicket", object({ title: { type: "string" } }, ["title"]), {
        responses: { 201: json(object({ ticket: { type: "integer" } })) },
      }),
      "/tickets/{id}": {
        delete: {
          operationId: "closeTicket",
          parameters: [path("id", { type: "integer" })],
          responses: { 204: { description: "" } },
        },
      },
      "/text": get("text", {
        responses: { 200: { description: "", content: { "text/plain": { schema: { type: "string" } } } } },
      }),
      "/mislabeled": get("mislabeled", { responses: ok(object({ a: { type: "integer" } })) }),
      "/unlabeled": get("unlabeled", { responses: ok(object({ a: { type: "integer" } })) }),
      "/html": get("html", { responses: ok(object({ a: { type: "integer" } })) }),
      "/notjson": get("notjson"),
      "/big": get("big", {
        responses: ok(object({ id: INT64, ids: { type: "array", items: INT64 }, free: {} })),
      }),
      "/huge": get("huge"),
      "/proto": get("proto"),
      "/events": get("events", {
        responses: { 200: { description: "", content: { "text/event-stream": {} } } },
      }),
      "/finite": get("finite", {
        responses: { 200: { description: "", content: { "text/event-stream": {} } } },
      }),
      "/echoQuery": get("echoQuery", {
        parameters: [query("id", INT64), query("tags", { type: "array", items: { type: "string" } })],
      }),
    },
  };
}

const CAT = object({ petType: { type: "string" }, name: { type: "string" } }, ["petType"]);
const DOG = object({ petType: { type: "string" }, name: { type: "string" } }, ["petType"]);

function describeOdd(): Json {
  return {
    openapi: "3.0.3",
    info: { title: "Odd", version: "1" },
    servers: [{ url: "/api" }],
    components: {
      schemas: {
        Cat: CAT,
        Dog: DOG,
        Base: object({ a: { type: "string" } }),
        Node: object({ value: {}, next: { $ref: "#/components/schemas/Node" } }),
      },
    },
    paths: {
      "/echoQuery/members": get("constructorQuery", {
        parameters: ["constructor", "toString", "valueOf", "hasOwnProperty"]
          .map((name) => query(name, { type: "string" }))
          .concat(query("year", { type: "integer" })),
      }),
      "/echo/pet": post("pet", {
        oneOf: [{ $ref: "#/components/schemas/Cat" }, { $ref: "#/components/schemas/Dog" }],
        discriminator: { propertyName: "petType" },
      }),
      "/echo/number": post("number", object({ v: { oneOf: [{ type: "integer" }, { type: "number" }] } })),
      "/echo/shared": post("shared", {
        oneOf: [
          object({ name: { type: "string" } }),
          object({ name: { type: "string" }, age: { type: "integer" } }),
        ],
      }),
      "/echo/nullable": post("nullable", object({ s: { type: "string", nullable: true, enum: ["a", "b"] } })),
      "/echo/merged": post("merged", {
        allOf: [
          { $ref: "#/components/schemas/Base" },
          { ...object({ b: { type: "string" } }), additionalProperties: false },
        ],
      }),
      "/echo/list": post("list", { $ref: "#/components/schemas/Node" }),
      "/gone": get("dangling", { responses: ok({ $ref: "#/components/schemas/Missing" }) }),
      "/fail": get("elsewhere", { responses: ok({ $ref: "other.json#/X" }) }),
      "/items": { $ref: "./paths.json" },
      "/row/a": get("same-name"),
      "/row/b": get("same_name"),
      "/text": { get: { responses: { 200: { description: "" } } } },
    },
  };
}

/** Null for a document that does not exist. */
export function describeOddApi(name: string): Json | null {
  if (name === "odd.json") return describeOdd();
  return name === "paths.json" ? get("relative", { parameters: [query("page", { type: "integer" })] }) : null;
}
