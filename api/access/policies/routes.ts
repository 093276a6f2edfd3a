/** The policies over HTTP: a rule lets calls through that a person would have stopped. */
import { z } from "zod";
import type { App } from "#api/http/app-type.ts";
import { BODY_ERRORS, errorResponses } from "#api/http/responses.ts";
import type { CallGate } from "#api/tools/gate.ts";
import { admin, registerCollection } from "../collection.ts";
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

const tags = ["policies"];

export function registerPolicyRoutes(app: App, policies: Policies, gate: Pick<CallGate, "canSee">): void {
  registerCollection(app, {
    name: "policies",
    position: z.int(),
    params: policyParamsSchema,
    service: policies,
    list: { summary: "Policies, in the order in which they are asked", answer: policyListSchema },
    create: {
      summary: "Add a policy after all others",
      description: "A pattern that no installed tool matches is accepted; `hints` says so.",
      body: createPolicyBodySchema,
      answer: changedPolicySchema,
      errors: ["limit_reached"],
    },
    remove: { summary: "Delete a policy", done: "Deleted.", errors: [] },
  });

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
}
