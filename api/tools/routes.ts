import { z } from "zod";
import { clientGone } from "../http/answers.ts";
import type { App } from "../http/app-type.ts";
import { requireKey, requireScope, rightsOf } from "../http/auth.ts";
import { createListing, pageQuerySchema } from "../http/cursor.ts";
import { BODY_ERRORS, errorResponses } from "../http/responses.ts";
import type { CallCaller } from "./contract.ts";
import { type DeclaredPackage, printPackages } from "./declarations/packages.ts";
import {
  declarationsQuerySchema,
  enabledAnswerSchema,
  enabledBodySchema,
  invokeAnswerSchema,
  invokeBodySchema,
  toolDetailsSchema,
  toolFilterSchema,
  toolListSchema,
  toolParamsSchema,
} from "./model.ts";
import type { Tools } from "./service.ts";

const listed = createListing(
  "tools",
  z.object({
    service: z.int().positive(),
    tool: z.int().min(0).max(2_147_483_647),
    id: z.string().max(200),
  }),
);
const ranked = createListing(
  "ranked tools",
  z.object({
    serviceId: z.string().max(100),
    id: z.string().max(200),
    score: z.number().min(0).max(1e6),
  }),
);
const listQuerySchema = toolFilterSchema.extend(pageQuerySchema.shape);
const anyKey = { tags: ["tools"], security: [{ key: [] }] };
const tagged = { tags: ["tools"] };

const CALL_ERRORS = [
  "invalid_parameters",
  "policy_blocked",
  "approval_unavailable",
  "not_found",
  "service_disabled",
  "service_stale",
  "service_failed",
  "adapter_inactive",
  "tool_disabled",
  "too_many_calls",
  "tool_schema_invalid",
  "tool_failed",
  "result_invalid",
  "result_too_large",
  "call_canceled",
  "call_unavailable",
  "call_timeout",
] as const;

/** npm packages that the viewer's scripts may import. `search` returns those that match the words. */
interface ImportablePackages {
  listNames(viewer: CallCaller): readonly DeclaredPackage[];
  search(viewer: CallCaller, words: string): DeclaredPackage[];
}

export function registerToolRoutes(app: App, tools: Tools, packages: ImportablePackages): void {
  registerReading(app, tools, packages);
  registerDeclarations(app, tools, packages);

  app.post(
    "/tools/:serviceId/:toolId/enabled",
    {
      onRequest: requireScope("services:admin"),
      schema: {
        ...tagged,
        operationId: "setToolEnabled",
        summary: "Enable or disable a tool",
        description: "A disabled tool is listed, but cannot be called.",
        params: toolParamsSchema,
        body: enabledBodySchema,
        response: { 200: enabledAnswerSchema, ...errorResponses(...BODY_ERRORS, "not_found") },
      },
    },
    async (request) => {
      const { serviceId, toolId } = request.params;
      const { enabled } = request.body;
      await tools.setEnabled(request.params, enabled, rightsOf(request.caller));
      return { serviceId, id: toolId, enabled };
    },
  );

  app.post(
    "/tools/:serviceId/:toolId/invoke",
    {
      onRequest: requireScope("processes:write"),
      config: { keepsIntegers: true },
      schema: {
        ...tagged,
        operationId: "invokeTool",
        summary: "Call a tool once, without a script",
        description: "Applies the same checks, limits and records as to a call by a script.",
        params: toolParamsSchema,
        body: invokeBodySchema,
        response: { 200: invokeAnswerSchema, ...errorResponses(...BODY_ERRORS, ...CALL_ERRORS) },
      },
    },
    async (request, reply) => {
      const { parameters, throwOnError } = request.body;
      const signal = clientGone(reply);
      const call = { ...request.params, parameters, throwOnError, caller: rightsOf(request.caller), signal };
      return { result: await tools.invoke(call) };
    },
  );
}

function registerReading(app: App, tools: Tools, packages: ImportablePackages): void {
  app.get(
    "/tools",
    {
      onRequest: requireKey(),
      schema: {
        ...anyKey,
        operationId: "listTools",
        summary: "List or search tools",
        description:
          "Lists the tools that the caller can see: those of the newest service first, or ranked by `query`.",
        querystring: listQuerySchema,
        response: {
          200: toolListSchema,
          ...errorResponses("invalid_request", "invalid_cursor", "not_found"),
        },
      },
    },
    async (request) => {
      const { query, ...rest } = request.query;
      const caller = rightsOf(request.caller);
      if (query === undefined || query === "") {
        return listed.answer(rest, (page, filter) => tools.list(filter, page, caller));
      }
      const found = await ranked.answer(rest, (page, filter) => tools.search(query, filter, page, caller));
      const isWhole = rest.serviceId === undefined && rest.cursor === undefined;
      return isWhole ? { ...found, packages: packages.search(caller, query) } : found;
    },
  );

  app.get(
    "/tools/:serviceId/:toolId",
    {
      onRequest: requireKey(),
      schema: {
        ...anyKey,
        operationId: "getTool",
        summary: "Read a tool",
        description: "Includes the JSON Schemas of its parameters and its result.",
        params: toolParamsSchema,
        response: { 200: toolDetailsSchema, ...errorResponses("invalid_request", "not_found") },
      },
    },
    async (request) => tools.get(request.params, rightsOf(request.caller)),
  );

  app.get(
    "/tools/:serviceId/:toolId/docs",
    {
      onRequest: requireKey(),
      schema: {
        ...anyKey,
        operationId: "getToolDocs",
        summary: "Read the documentation of a tool",
        description:
          "Markdown with a TypeScript signature and an example, written by the active environment.",
        params: toolParamsSchema,
        response: {
          200: textAnswer("text/markdown", "Markdown with a TypeScript signature and an example."),
          ...errorResponses("invalid_request", "not_found", "no_environment", "module_failed"),
        },
      },
    },
    async (request, reply) => {
      const docs = await tools.readDocs(request.params, rightsOf(request.caller));
      return reply.type("text/markdown; charset=utf-8").serializer(String).send(docs);
    },
  );
}

function registerDeclarations(app: App, tools: Tools, importable: ImportablePackages): void {
  app.get(
    "/tools/types.d.ts",
    {
      onRequest: requireKey(),
      schema: {
        ...anyKey,
        operationId: "getToolTypes",
        summary: "Read the TypeScript declarations for scripts",
        description:
          "Declares the globals of a script, every tool that the caller can see and call, and the npm packages that scripts may import. `ETag` and `If-None-Match` are supported.",
        querystring: declarationsQuerySchema,
        response: {
          200: textAnswer(
            "text/plain",
            "TypeScript; `ETag`, `If-None-Match` and `Accept-Encoding: gzip` are supported.",
          ),
          304: textAnswer("text/plain", "Not changed."),
          ...errorResponses("invalid_request", "not_found"),
        },
      },
    },
    async (request, reply) => {
      const { serviceId, globals: withGlobals = true } = request.query;
      const viewer = rightsOf(request.caller);
      const packages = serviceId === undefined ? printPackages(importable.listNames(viewer)) : "";
      const written = await tools.readDeclarations({ serviceId, withGlobals, packages }, viewer);
      const isPacked = acceptsGzip(request.headers["accept-encoding"]);
      const entityTag = `"${written.digest.slice(0, 32)}${isPacked ? "-gzip" : ""}"`;
      void reply.headers({ etag: entityTag, vary: "accept-encoding" });
      void reply.type("text/plain; charset=utf-8").serializer(((text: Buffer) => text) as never);
      if (request.headers["if-none-match"] === entityTag) return reply.status(304).send("");
      if (isPacked) void reply.header("content-encoding", "gzip");
      return reply.send((isPacked ? written.gzipped : written.text) as never);
    },
  );
}

function acceptsGzip(accepted: string | string[] | undefined): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(String(accepted));
}

function textAnswer(type: string, description: string) {
  return { description, content: { [type]: { schema: z.string() } } };
}
