import { z } from "zod";
import type { App } from "#api/http/app-type.ts";
import { BODY_ERRORS, errorResponses } from "#api/http/responses.ts";
import type { CallGate } from "#api/tools/contract.ts";
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
    list: {
      operationId: "listPolicies",
      summary: "List rules in order of evaluation",
      description: "The first rule that matches a call decides; `defaultPolicy` decides when none does.",
      answer: policyListSchema,
    },
    create: {
      operationId: "createPolicy",
      summary: "Add a rule after all others",
      description: "Patterns that match no installed tool are accepted; `hints` names them.",
      body: createPolicyBodySchema,
      answer: changedPolicySchema,
      errors: ["limit_reached"],
    },
    remove: {
      operationId: "deletePolicy",
      summary: "Delete a rule",
      description: "Later calls are decided by the next rule that matches, or by the default.",
      done: "Deleted.",
      errors: [],
    },
  });

  app.get(
    "/policies/preview",
    {
      ...admin,
      schema: {
        tags,
        operationId: "previewPolicy",
        summary: "Preview which tools a rule would match",
        description:
          "Returns the installed tools that the patterns match, and the current decision about each.",
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
        operationId: "orderPolicies",
        summary: "Reorder all rules",
        description: "The request must name every rule exactly once.",
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
        operationId: "updatePolicy",
        summary: "Change a rule",
        description: "The rule keeps its position.",
        params: policyParamsSchema,
        body: patchPolicyBodySchema,
        response: { 200: changedPolicySchema, ...errorResponses(...BODY_ERRORS, "not_found") },
      },
    },
    async (request) => policies.change(request.params.id, request.body),
  );
}
