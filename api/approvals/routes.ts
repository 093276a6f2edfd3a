/** The approvals over HTTP: paths, scopes, status codes. Rules are in service.ts. */
import { z } from "zod";
import { clientGone } from "../http/answers.ts";
import type { App } from "../http/app-type.ts";
import { requireScope } from "../http/auth.ts";
import { createListing, pageQuerySchema } from "../http/cursor.ts";
import { openEventStream } from "../http/event-stream.ts";
import { BODY_ERRORS, errorResponses } from "../http/responses.ts";
import {
  approvalFilterSchema,
  approvalListSchema,
  approvalParamsSchema,
  approvalSchema,
  approveBodySchema,
  denyBodySchema,
} from "./model.ts";
import { toDecider } from "./records.ts";
import type { Approvals } from "./service.ts";

const listing = createListing("approvals", z.int().positive());
const tags = ["approvals"];
// Reading too: parameters of calls are for those who decide about them.
const deciding = { onRequest: requireScope("approvals:decide") };
const params = approvalParamsSchema;

export function registerApprovalRoutes(app: App, approvals: Approvals): void {
  app.get(
    "/approvals",
    {
      ...deciding,
      schema: {
        tags,
        summary: "List approvals, newest first",
        querystring: pageQuerySchema.extend(approvalFilterSchema.shape),
        response: { 200: approvalListSchema, ...errorResponses("invalid_request", "invalid_cursor") },
      },
    },
    async (request) =>
      listing.answer(request.query, (page, filter) =>
        approvals.list(filter, page, toDecider(request.caller)),
      ),
  );

  app.get(
    "/approvals/stream",
    {
      ...deciding,
      exposeHeadRoute: false,
      schema: {
        tags,
        summary: "Server-sent events of approvals as they are asked for and decided",
        description:
          "Events: `approval` with the approval as a list shows it; `reset` when some were missed and the list is to be read anew. `Last-Event-ID` resumes.",
        headers: z.looseObject({ "last-event-id": z.string().optional() }),
        response: {
          200: { description: "The stream.", content: { "text/event-stream": { schema: z.string() } } },
          ...errorResponses("invalid_request"),
        },
      },
    },
    async (request, reply) => {
      const lastEventId = request.headers["last-event-id"] || null;
      const events = approvals.follow(lastEventId, toDecider(request.caller), clientGone(reply));
      // The schema documents the text; fastify pipes a stream of it.
      return reply.send(openEventStream(reply, events) as never);
    },
  );

  app.get(
    "/approvals/:id",
    {
      ...deciding,
      schema: {
        tags,
        summary: "Read an approval with what it is about",
        params,
        response: {
          200: approvalSchema,
          ...errorResponses("invalid_request", "not_found", "secrets_key_missing"),
        },
      },
    },
    async (request) => approvals.get(request.params.id, toDecider(request.caller)),
  );

  const decided = {
    200: approvalSchema,
    ...errorResponses(
      ...BODY_ERRORS,
      "not_found",
      "self_approval",
      "already_decided",
      "approval_expired",
      "secrets_key_missing",
      "limit_reached",
      "audit_unavailable",
    ),
  };

  app.post(
    "/approvals/:id/approve",
    {
      ...deciding,
      config: { keepsIntegers: true },
      schema: {
        tags,
        summary: "Approve; the run goes on",
        params,
        body: approveBodySchema,
        response: decided,
      },
    },
    async (request) => approvals.approve(request.params.id, request.body, toDecider(request.caller)),
  );

  app.post(
    "/approvals/:id/deny",
    {
      ...deciding,
      schema: { tags, summary: "Deny; the script is told", params, body: denyBodySchema, response: decided },
    },
    async (request) => approvals.deny(request.params.id, request.body, toDecider(request.caller)),
  );
}
