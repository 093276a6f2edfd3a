/** HTTP of the modules feature. Reading needs any key; changes need `modules:admin`. */
import { z } from "zod";
import type { App } from "../http/app-type.ts";
import { requireKey, requireScope } from "../http/auth.ts";
import { decodeCursor, encodeCursor, pageQuerySchema } from "../http/cursor.ts";
import { BODY_ERRORS, errorResponses } from "../http/responses.ts";
import { formatEntityTag } from "./entity-tag.ts";
import {
  configAnswerSchema,
  configSchemaAnswerSchema,
  enabledAnswerSchema,
  enabledBodySchema,
  moduleFilterSchema,
  moduleListSchema,
  moduleParamsSchema,
  moduleRecordSchema,
  patchBodySchema,
} from "./model.ts";
import type { Modules } from "./service.ts";

const CURSOR_KIND = "modules";
const positionSchema = z.int().positive();
const listQuerySchema = moduleFilterSchema.extend(pageQuerySchema.shape);
const anyKey = { tags: ["modules"], security: [{ key: [] }] };
const admin = { tags: ["modules"] };
const ifMatchHeaders = z.object({
  "if-match": z
    .string()
    .optional()
    .describe("`ETag` of the configuration the patch was made for; 412 if it has changed."),
});

export function registerModuleRoutes(app: App, modules: Modules): void {
  app.get(
    "/modules",
    {
      onRequest: requireKey(),
      schema: {
        ...anyKey,
        summary: "Modules, the last registered first",
        querystring: listQuerySchema,
        response: { 200: moduleListSchema, ...errorResponses("invalid_request", "invalid_cursor") },
      },
    },
    async (request) => {
      const { limit, cursor, ...filter } = request.query;
      const before = cursor === undefined ? null : decodeCursor(CURSOR_KIND, positionSchema, cursor);
      const page = await modules.list(filter, { before, limit });
      return {
        modules: page.modules,
        nextCursor: page.next === null ? null : encodeCursor(CURSOR_KIND, page.next),
      };
    },
  );

  app.get(
    "/modules/:id",
    {
      onRequest: requireKey(),
      schema: {
        ...anyKey,
        summary: "One module",
        params: moduleParamsSchema,
        response: { 200: moduleRecordSchema, ...errorResponses("invalid_request", "not_found") },
      },
    },
    async (request) => modules.get(request.params.id),
  );

  app.delete(
    "/modules/:id",
    {
      onRequest: requireScope("modules:admin"),
      schema: {
        ...admin,
        summary: "Delete a module; not one that comes with the server",
        params: moduleParamsSchema,
        response: {
          204: z.null().describe("Deleted."),
          ...errorResponses("invalid_request", "not_found", "builtin_module", "shutting_down"),
        },
      },
    },
    async (request, reply) => {
      await modules.remove(request.params.id);
      return reply.status(204).send(null);
    },
  );

  app.post(
    "/modules/:id/enabled",
    {
      onRequest: requireScope("modules:admin"),
      schema: {
        ...admin,
        summary: "Enable or disable a module",
        description:
          "Enabling an environment starts it first; only then the one before it takes no more runs and ends after its last one. If it cannot start, the one before it stays and the answer is 502.",
        params: moduleParamsSchema,
        body: enabledBodySchema,
        response: {
          200: enabledAnswerSchema,
          ...errorResponses(
            ...BODY_ERRORS,
            "not_found",
            "module_missing",
            "environments_draining",
            "module_failed",
          ),
        },
      },
    },
    async (request) => {
      const { id } = request.params;
      const { enabled } = request.body;
      await modules.setEnabled(id, enabled);
      return { id, enabled };
    },
  );

  registerConfigRoutes(app, modules);
}

function registerConfigRoutes(app: App, modules: Modules): void {
  app.get(
    "/modules/:id/config",
    {
      onRequest: requireKey(),
      schema: {
        ...anyKey,
        summary: "The configuration of a module",
        params: moduleParamsSchema,
        response: {
          200: configAnswerSchema,
          ...errorResponses("invalid_request", "not_found", "module_failed"),
        },
      },
    },
    async (request, reply) => {
      const { version, ...answer } = await modules.readConfig(request.params.id);
      void reply.header("etag", formatEntityTag(version));
      return answer;
    },
  );

  app.get(
    "/modules/:id/config/schema",
    {
      onRequest: requireKey(),
      schema: {
        ...anyKey,
        summary: "The JSON Schema of the configuration, with its defaults",
        params: moduleParamsSchema,
        response: {
          200: configSchemaAnswerSchema,
          ...errorResponses("invalid_request", "not_found", "module_missing"),
        },
      },
    },
    async (request) => ({ configSchema: await modules.readConfigSchema(request.params.id) }),
  );

  app.patch(
    "/modules/:id/config",
    {
      onRequest: requireScope("modules:admin"),
      schema: {
        ...admin,
        summary: "Change the configuration by JSON Patch",
        description:
          "The result must fit the schema. An enabled module is started anew with it; if that fails nothing changes and the answer is 502.",
        params: moduleParamsSchema,
        headers: ifMatchHeaders,
        body: patchBodySchema,
        response: {
          200: configAnswerSchema,
          ...errorResponses(
            ...BODY_ERRORS,
            "not_found",
            "module_missing",
            "environments_draining",
            "precondition_failed",
            "module_failed",
          ),
        },
      },
    },
    async (request, reply) => {
      const ifMatch = request.headers["if-match"];
      const { version, ...answer } = await modules.patchConfig(request.params.id, request.body, ifMatch);
      void reply.header("etag", formatEntityTag(version));
      return answer;
    },
  );
}
