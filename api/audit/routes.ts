import { Readable } from "node:stream";
import { z } from "zod";
import type { App } from "../http/app-type.ts";
import { requireScope } from "../http/auth.ts";
import { createListing } from "../http/cursor.ts";
import { errorResponses } from "../http/responses.ts";
import { auditFilterSchema, auditListSchema, auditPositionSchema, auditQuerySchema } from "./model.ts";
import type { AuditTrail } from "./service.ts";

const listing = createListing("audit", auditPositionSchema);
const read = { onRequest: requireScope("logs:read") };
const tags = ["audit"];
const MAX_EXPORT_BUFFER_BYTES = 256 * 1024;
/** Time after which an export client that stops reading is disconnected. */
const MAX_EXPORT_STALL_MS = 30_000;

export function registerAuditRoutes(app: App, trail: AuditTrail): void {
  app.get(
    "/audit",
    {
      ...read,
      schema: {
        tags,
        operationId: "listAuditRecords",
        summary: "List audit records, newest first",
        description: "Filters can be combined.",
        querystring: auditQuerySchema,
        response: { 200: auditListSchema, ...errorResponses("invalid_request", "invalid_cursor") },
      },
    },
    async (request) => listing.answer(request.query, (page, filter) => trail.list(filter, page)),
  );

  app.get(
    "/audit/export",
    {
      ...read,
      exposeHeadRoute: false,
      schema: {
        tags,
        operationId: "exportAuditRecords",
        summary: "Export the audit trail as JSON lines, oldest first",
        description: "Streams every record that matches the filter, one per line.",
        querystring: auditFilterSchema,
        response: {
          200: {
            description: "One record per line.",
            content: { "application/x-ndjson": { schema: z.string() } },
          },
          ...errorResponses("invalid_request", "audit_unavailable"),
        },
      },
    },
    async (request, reply) => {
      const open = await trail.openExport(request.query);
      const body = Readable.from(
        cutOffStalled(open.lines, () => reply.raw.destroy()),
        { objectMode: false, highWaterMark: MAX_EXPORT_BUFFER_BYTES },
      );
      body.once("close", () => open[Symbol.dispose]());
      return reply.type("application/x-ndjson").send(body as never);
    },
  );
}

async function* cutOffStalled(
  lines: AsyncGenerator<string, void>,
  cutOff: () => void,
): AsyncGenerator<string, void> {
  for await (const part of lines) {
    const timer = setTimeout(cutOff, MAX_EXPORT_STALL_MS);
    try {
      yield part;
    } finally {
      clearTimeout(timer);
    }
  }
}
