import { z } from "zod";
import { clientGone } from "#api/http/answers.ts";
import type { App } from "#api/http/app-type.ts";
import { requireScope } from "#api/http/auth.ts";
import { createListing } from "#api/http/cursor.ts";
import { openEventStream } from "#api/http/event-stream.ts";
import { errorResponses } from "#api/http/responses.ts";
import { logFilterSchema, logListSchema, logQuerySchema } from "./model.ts";
import type { Logs } from "./service.ts";

const listing = createListing("logs", z.strictObject({ epoch: z.string(), number: z.int().positive() }));
const read = { onRequest: requireScope("logs:read"), config: { withoutDatabase: true } };
const tags = ["logs"];

export function registerLogRoutes(app: App, logs: Logs): void {
  app.get(
    "/logs",
    {
      ...read,
      schema: {
        tags,
        operationId: "listLogs",
        summary: "List recent log records, newest first",
        description:
          "Returns the records in this replica's memory: some thousand, lost when it stops. The whole log is on its standard output.",
        querystring: logQuerySchema,
        response: { 200: logListSchema, ...errorResponses("invalid_request", "invalid_cursor") },
      },
    },
    async (request) => listing.answer(request.query, (page, filter) => logs.list(filter, page)),
  );

  app.get(
    "/logs/stream",
    {
      ...read,
      exposeHeadRoute: false,
      schema: {
        tags,
        operationId: "streamLogs",
        summary: "Stream log records",
        description:
          "Server-sent events: `log` with a record; `reset` when some were missed. `Last-Event-ID` resumes after the record with that `id`.",
        querystring: logFilterSchema,
        headers: z.looseObject({ "last-event-id": z.string().optional() }),
        response: {
          200: { description: "The stream.", content: { "text/event-stream": { schema: z.string() } } },
          ...errorResponses("invalid_request", "too_many_streams"),
        },
      },
    },
    async (request, reply) => {
      const events = logs.follow(request.query, request.headers["last-event-id"] || null, clientGone(reply));
      return reply.send(openEventStream(reply, events) as never);
    },
  );
}
