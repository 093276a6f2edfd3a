import type { App } from "../../http/app-type.ts";
import { requireScope } from "../../http/auth.ts";
import { createListing, pageQuerySchema } from "../../http/cursor.ts";
import { errorResponses } from "../../http/responses.ts";
import { replicaListSchema, replicaPositionSchema } from "./model.ts";
import type { Roster } from "./service.ts";

const listing = createListing("replicas", replicaPositionSchema);

export function registerRosterRoutes(app: App, roster: Roster): void {
  app.get(
    "/replicas",
    {
      onRequest: requireScope("logs:read"),
      schema: {
        tags: ["replicas"],
        operationId: "listReplicas",
        summary: "List replicas, newest first",
        description: "Lost replicas are listed for an hour; those that stopped cleanly are not listed.",
        querystring: pageQuerySchema,
        response: { 200: replicaListSchema, ...errorResponses("invalid_request", "invalid_cursor") },
      },
    },
    async (request) => listing.answer(request.query, (page) => roster.list(page)),
  );
}
