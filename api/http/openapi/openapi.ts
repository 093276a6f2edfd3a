/** The OpenAPI document, generated from the schemas that validate, and the page that renders it. */
import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import type { FastifyPluginAsync } from "fastify";
import { jsonSchemaTransform, jsonSchemaTransformObject } from "fastify-type-provider-zod";
import type { App } from "../app-type.ts";

type Document = ReturnType<typeof jsonSchemaTransformObject>;

const VERSION = "0.1.0";
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Before any route is registered: collects them. */
export async function registerOpenApi(app: App): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Cyrnel",
        version: VERSION,
        description: "Runs submitted TypeScript in sandboxes of its own. Errors: docs/errors.md.",
        license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      },
      servers: [{ url: "http://127.0.0.1:9371" }],
      components: {
        securitySchemes: {
          key: { type: "http", scheme: "bearer", description: "An API key. Not needed in anonymous mode." },
        },
      },
    },
    transform: (input) => {
      const transformed = jsonSchemaTransform(input);
      const { config } = input.route;
      const access = config?.public
        ? { security: [] }
        : { security: [{ key: [] }], "x-scope": config?.scope };
      return nameRest({ url: transformed.url, schema: { ...transformed.schema, ...access } });
    },
    transformObject: (input) => sortUsedSchemas(jsonSchemaTransformObject(input)),
  });
}

/** The rest of a path has no name in the router; in the document it is a parameter `name`, percent-encoded. */
function nameRest<T extends { url: string; schema: { params?: unknown } }>(route: T): T {
  if (!route.url.endsWith("/*") || route.schema.params === undefined) return route;
  const params = JSON.parse(JSON.stringify(route.schema.params).replaceAll('"*"', '"name"'));
  return { ...route, url: route.url.replace(/\*$/, ":name"), schema: { ...route.schema, params } };
}

/** For agents that were given nothing but the address. The same on every server: says nothing of what is installed. */
const LLMS_TEXT = `# Cyrnel

> A server that runs TypeScript you write, in a sandbox, and lets it call tools: functions of the services installed here.
> One script in place of many tool calls: data stays in the sandbox, and only what the script returns comes back.

Requests need an API key, \`Authorization: Bearer <key>\`, unless the server has none and is reached from its own machine only.
/openapi.json and /docs are for everyone.

## How to use it

1. Read how scripts are written: GET /environment/docs
2. Find tools and packages: GET /tools?query=create+issue, or \`tools.search({ query })\` in a script. Read one: GET /tools/{serviceId}/{toolId}/docs
3. Run a script: POST /processes with \`{"code": "return await tools.github.issues.list({ state: 'open' })", "block": true}\`.
   It may import npm packages: \`import { z } from "zod"\`; GET /environment/docs lists those that are installed.
   The answer has \`exitState\`, \`result\`, \`stdout\`, \`stderr\` and, where it failed, \`error\` with line and column.
4. A process in the state \`paused\` waits for a person: look again with GET /processes/{id}?wait=60000

## Documents

- [How scripts are written](/environment/docs): globals, tools, limits, errors, an example
- [Types of all tools](/tools/types.d.ts): TypeScript declarations of what this key can call
- [npm packages](/packages) that scripts can import
- [HTTP API](/openapi.json): OpenAPI 3.1; for reading at [/docs](/docs)
- [MCP](/mcp): the same as a Model Context Protocol server (Streamable HTTP): run, search_tools, read_tool, resume, result
`;

/** `GET /openapi.json`, `GET /llms.txt` and `GET /docs`, without a key; every asset comes from this server. */
export async function registerDocumentation(app: App): Promise<void> {
  app.get("/openapi.json", { config: { public: true }, schema: { hide: true } }, async (_request, reply) =>
    reply.type("application/json; charset=utf-8").serializer(String).send(JSON.stringify(app.swagger())),
  );
  app.get("/llms.txt", { config: { public: true }, schema: { hide: true } }, async (_request, reply) =>
    reply.type("text/plain; charset=utf-8").serializer(String).send(LLMS_TEXT),
  );
  await app.register(documentationPage);
}

const documentationPage: FastifyPluginAsync = async (scope) => {
  scope.addHook("onRoute", (route) => {
    route.config = { ...route.config, public: true };
  });
  await scope.register(swaggerUi, {
    routePrefix: "/docs",
    uiConfig: { url: "/openapi.json", docExpansion: "list", validatorUrl: null },
    staticCSP: PAGE_POLICY,
  });
};

/**
 * The schema library lists every named schema twice, as input and as output, in the order in which modules were loaded:
 * only those in use stay, by name.
 */
function sortUsedSchemas(document: Document): Document {
  const schemas = ("components" in document && document.components?.schemas) || {};
  for (let dropped = true; dropped; ) {
    const text = JSON.stringify(document);
    const unused = Object.keys(schemas).filter((name) => !text.includes(`"#/components/schemas/${name}"`));
    for (const name of unused) delete schemas[name];
    dropped = unused.length > 0;
  }
  if (!("components" in document) || document.components === undefined) return document;
  const sorted = Object.entries(schemas).sort(([one], [other]) => (one < other ? -1 : 1));
  document.components.schemas = Object.fromEntries(sorted);
  return document;
}
