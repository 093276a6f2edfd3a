/** Serves the OpenAPI document, generated from the schemas used for validation, and a page that renders it. */
import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import type { FastifyPluginAsync } from "fastify";
import { jsonSchemaTransform, jsonSchemaTransformObject } from "fastify-type-provider-zod";
import type { App } from "../app-type.ts";
import { shareComponents } from "./share.ts";

const VERSION = "0.1.0";
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const TAGS = {
  processes: "Scripts as they were submitted, their runs and results.",
  files: "Files uploaded as input for runs.",
  packages: "npm packages that scripts can import.",
  services: "Installed services, their definitions, settings and secrets.",
  tools: "Functions of services that scripts call.",
  approvals: "Calls and questions that wait for an approver.",
  policies: "Rules that allow a call, ask an approver or block it.",
  roles: "Which tools and packages a key may use.",
  keys: "API keys and their scopes.",
  modules: "Environments, which run scripts, and adapters, which make services.",
  environment: "The active environment and its isolation.",
  audit: "The audit trail.",
  logs: "The server's log.",
  replicas: "Servers that share the database.",
  health: "Probes and metrics.",
};

/** Call before registering any route: the document lists only routes registered later. */
export async function registerOpenApi(app: App): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Cyrnel",
        version: VERSION,
        description: "Runs submitted TypeScript in sandboxes. Errors: docs/errors.md.",
        contact: { name: "The operator of this server" },
        license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      },
      servers: [{ url: "http://127.0.0.1:9371" }],
      tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
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
    transformObject: (input) => shareComponents(jsonSchemaTransformObject(input)),
  });
}

/**
 * Names the wildcard at the end of a path `name` in the document, because the router has no name for it. It is
 * percent-encoded.
 */
function nameRest<T extends { url: string; schema: { params?: unknown } }>(route: T): T {
  if (!route.url.endsWith("/*") || route.schema.params === undefined) return route;
  const params = JSON.parse(JSON.stringify(route.schema.params).replaceAll('"*"', '"name"'));
  return { ...route, url: route.url.replace(/\*$/, ":name"), schema: { ...route.schema, params } };
}

/**
 * Text for agents that know only the address. Identical on every server; reveals nothing about installed services.
 */
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
4. A process in the state \`paused\` waits for an approver: look again with GET /processes/{id}?wait=60000

## Documents

- [How scripts are written](/environment/docs): globals, tools, limits, errors, an example
- [Types of all tools](/tools/types.d.ts): TypeScript declarations of what this key can call
- [npm packages](/packages) that scripts can import
- [HTTP API](/openapi.json): OpenAPI 3.1; for reading at [/docs](/docs)
- [MCP](/mcp): the same as a Model Context Protocol server (Streamable HTTP): run, search_tools, read_tool, resume, result
`;

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
