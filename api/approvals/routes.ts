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
// Reading needs the scope too, because call parameters are shown only to approvers.
const deciding = { onRequest: requireScope("approvals:decide") };
const params = approvalParamsSchema;

export function registerApprovalRoutes(app: App, approvals: Approvals): void {
  app.get(
    "/approvals",
    {
      ...deciding,
      schema: {
        tags,
        operationId: "listApprovals",
        summary: "List approvals, newest first",
        description:
          "Lists approvals of calls and questions, without their parameters. A role that hides the tool hides its approvals.",
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
        operationId: "streamApprovals",
        summary: "Stream approvals as they are requested and decided",
        description:
          "Server-sent events: `approval` with the approval as in the list; `reset` when some were missed and the list should be read again. `Last-Event-ID` resumes.",
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
      // The schema documents text, but fastify pipes a stream of it.
      return reply.send(openEventStream(reply, events) as never);
    },
  );

  app.get(
    "/approvals/:id",
    {
      ...deciding,
      schema: {
        tags,
        operationId: "getApproval",
        summary: "Read an approval",
        description:
          "Includes the parameters of the call, secrets redacted, or the schema of the answer to a question.",
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
        operationId: "approveApproval",
        summary: "Approve a call, or answer a question",
        description:
          "The run resumes. Neither the key that submitted the process nor the one that started the run may decide.",
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
      schema: {
        tags,
        operationId: "denyApproval",
        summary: "Deny a call or a question",
        description: "The run resumes with an error that carries the `reason` and that the script may catch.",
        params,
        body: denyBodySchema,
        response: decided,
      },
    },
    async (request) => approvals.deny(request.params.id, request.body, toDecider(request.caller)),
  );
}
