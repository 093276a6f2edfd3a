/** The keys over HTTP. All of it needs `keys:admin`: whoever may give out keys may give out any scope. */
import { z } from "zod";
import type { App } from "#api/http/app-type.ts";
import { requireScope } from "#api/http/auth.ts";
import { decodeCursor, encodeCursor, pageQuerySchema } from "#api/http/cursor.ts";
import { BODY_ERRORS, errorResponses } from "#api/http/responses.ts";
import { createdKeySchema, createKeyBodySchema, keyListSchema, keyParamsSchema } from "./model.ts";
import type { Keys } from "./service.ts";

const CURSOR_KIND = "keys";
const positionSchema = z.int().positive();
const admin = { onRequest: requireScope("keys:admin") };
const tags = ["keys"];

export function registerKeyRoutes(app: App, keys: Keys): void {
  app.get(
    "/keys",
    {
      ...admin,
      schema: {
        tags,
        summary: "API keys that are not revoked, newest first",
        querystring: pageQuerySchema,
        response: { 200: keyListSchema, ...errorResponses("invalid_request", "invalid_cursor") },
      },
    },
    async (request) => {
      const { limit, cursor } = request.query;
      const before = cursor === undefined ? null : decodeCursor(CURSOR_KIND, positionSchema, cursor);
      const page = await keys.list({ before, limit });
      return {
        keys: page.keys,
        nextCursor: page.next === null ? null : encodeCursor(CURSOR_KIND, page.next),
      };
    },
  );

  app.post(
    "/keys",
    {
      ...admin,
      schema: {
        tags,
        summary: "Make an API key; it is shown in this answer only",
        body: createKeyBodySchema,
        response: { 201: createdKeySchema, ...errorResponses(...BODY_ERRORS, "limit_reached") },
      },
    },
    async (request, reply) => {
      const created = await keys.create(request.body);
      return reply.status(201).header("location", `/keys/${created.id}`).send(created);
    },
  );

  app.delete(
    "/keys/:id",
    {
      ...admin,
      schema: {
        tags,
        summary: "Revoke an API key, at once",
        description:
          "Requests with it answer 401 from now on, its open streams end, and scripts it submitted see and call no tools any more.",
        params: keyParamsSchema,
        response: {
          204: z.null().describe("Revoked."),
          ...errorResponses("invalid_request", "not_found", "shutting_down"),
        },
      },
    },
    async (request, reply) => {
      await keys.revoke(request.params.id);
      return reply.status(204).send(null);
    },
  );
}
