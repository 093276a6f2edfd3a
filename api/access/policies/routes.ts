/** The policies over HTTP. All of it needs `keys:admin`: a rule lets calls through that a person would have stopped. */
import { z } from "zod";
import type { App } from "#api/http/app-type.ts";
import { requireScope } from "#api/http/auth.ts";
import { decodeCursor, encodeCursor, pageQuerySchema } from "#api/http/cursor.ts";
import { BODY_ERRORS, errorResponses } from "#api/http/responses.ts";
import type { CallGate } from "#api/tools/gate.ts";
import {
  changedPolicySchema,
  createPolicyBodySchema,
  orderAnswerSchema,
  orderBodySchema,
  patchPolicyBodySchema,
  policyListSchema,
  policyParamsSchema,
  previewQuerySchema,
  previewSchema,
} from "./model.ts";
import type { Policies } from "./service.ts";

const CURSOR_KIND = "policies";
const positionSchema = z.int();
const admin = { onRequest: requireScope("keys:admin") };
const tags = ["policies"];

export function registerPolicyRoutes(app: App, policies: Policies, gate: Pick<CallGate, "canSee">): void {
  app.get(
    "/policies",
    {
      ...admin,
      schema: {
        tags,
        summary: "Policies, in the order in which they are asked",
        querystring: pageQuerySchema,
        response: { 200: policyListSchema, ...errorResponses("invalid_request", "invalid_cursor") },
      },
    },
    async (request) => {
      const { limit, cursor } = request.query;
      const after = cursor === undefined ? null : decodeCursor(CURSOR_KIND, positionSchema, cursor);
      const { next, ...page } = await policies.list({ after, limit });
      return { ...page, nextCursor: next === null ? null : encodeCursor(CURSOR_KIND, next) };
    },
  );

  app.post(
    "/policies",
    {
      ...admin,
      schema: {
        tags,
        summary: "Add a policy after all others",
        description: "A pattern that no installed tool matches is accepted; `hints` says so.",
        body: createPolicyBodySchema,
        response: { 201: changedPolicySchema, ...errorResponses(...BODY_ERRORS, "limit_reached") },
      },
    },
    async (request, reply) => {
      const policy = await policies.create(request.body);
      return reply.status(201).header("location", `/policies/${policy.id}`).send(policy);
    },
  );

  app.get(
    "/policies/preview",
    {
      ...admin,
      schema: {
        tags,
        summary: "The installed tools that patterns match, and what decides a call of each now",
        querystring: previewQuerySchema,
        response: { 200: previewSchema, ...errorResponses("invalid_request") },
      },
    },
    async (request) => {
      const { keyId, roleId } = request.caller ?? {};
      const caller = {
        ...(keyId === undefined ? {} : { keyId }),
        ...(roleId === undefined ? {} : { roleId }),
      };
      return policies.preview(request.query, (tool) => gate.canSee(caller, tool));
    },
  );

  app.put(
    "/policies/order",
    {
      ...admin,
      schema: {
        tags,
        summary: "Put all policies in order",
        body: orderBodySchema,
        response: { 200: orderAnswerSchema, ...errorResponses(...BODY_ERRORS, "policy_order_mismatch") },
      },
    },
    async (request) => {
      const { orderedIds } = request.body;
      await policies.order(orderedIds);
      return { orderedIds };
    },
  );

  app.patch(
    "/policies/:id",
    {
      ...admin,
      schema: {
        tags,
        summary: "Change a policy; it keeps its place",
        params: policyParamsSchema,
        body: patchPolicyBodySchema,
        response: { 200: changedPolicySchema, ...errorResponses(...BODY_ERRORS, "not_found") },
      },
    },
    async (request) => policies.change(request.params.id, request.body),
  );

  app.delete(
    "/policies/:id",
    {
      ...admin,
      schema: {
        tags,
        summary: "Delete a policy",
        params: policyParamsSchema,
        response: {
          204: z.null().describe("Deleted."),
          ...errorResponses("invalid_request", "not_found", "shutting_down"),
        },
      },
    },
    async (request, reply) => {
      await policies.remove(request.params.id);
      return reply.status(204).send(null);
    },
  );
}
