/** HTTP of the modules feature. Reading needs any key; changes need `modules:admin`. */
import { z } from "zod";
import type { App } from "#api/http/app-type.ts";
import { requireKey, requireScope } from "#api/http/auth.ts";
import { createListing, pageQuerySchema } from "#api/http/cursor.ts";
import { BODY_ERRORS, errorResponses } from "#api/http/responses.ts";
import { enabledAnswerSchema } from "../model.ts";
import {
  enabledBodySchema,
  moduleFilterSchema,
  moduleListSchema,
  moduleParamsSchema,
  moduleRecordSchema,
} from "./model.ts";
import type { Modules } from "./service.ts";

const listing = createListing("modules", z.int().positive());
const listQuerySchema = moduleFilterSchema.extend(pageQuerySchema.shape);
const anyKey = { tags: ["modules"], security: [{ key: [] }] };
const admin = { tags: ["modules"] };

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
    async (request) => listing.answer(request.query, (page, filter) => modules.list(filter, page)),
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
}
