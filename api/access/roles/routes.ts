import { z } from "zod";
import type { App } from "#api/http/app-type.ts";
import { BODY_ERRORS, errorResponses } from "#api/http/responses.ts";
import { admin, registerCollection } from "../collection.ts";
import {
  changedRoleSchema,
  createRoleBodySchema,
  patchRoleBodySchema,
  roleListSchema,
  roleParamsSchema,
  roleSchema,
} from "./model.ts";
import type { Roles } from "./service.ts";

const tags = ["roles"];

export function registerRoleRoutes(app: App, roles: Roles): void {
  registerCollection(app, {
    name: "roles",
    position: z.int().positive(),
    params: roleParamsSchema,
    service: roles,
    list: {
      operationId: "listRoles",
      summary: "List roles, newest first",
      description:
        "A role says which tools a key may see and call, and which packages its scripts may import.",
      answer: roleListSchema,
    },
    create: {
      operationId: "createRole",
      summary: "Create a role",
      description: "Patterns that match no installed tool are accepted; `hints` names them.",
      body: createRoleBodySchema,
      answer: changedRoleSchema,
      errors: ["name_taken", "limit_reached"],
    },
    remove: {
      operationId: "deleteRole",
      summary: "Delete a role",
      description: "A role that a key or a rule names cannot be deleted.",
      done: "Deleted.",
      errors: ["role_in_use"],
    },
  });

  app.get(
    "/roles/:id",
    {
      ...admin,
      schema: {
        tags,
        operationId: "getRole",
        summary: "Read a role",
        description: "Returns its patterns of tools and packages.",
        params: roleParamsSchema,
        response: { 200: roleSchema, ...errorResponses("invalid_request", "not_found") },
      },
    },
    async (request) => roles.get(request.params.id),
  );

  app.patch(
    "/roles/:id",
    {
      ...admin,
      schema: {
        tags,
        operationId: "updateRole",
        summary: "Change a role",
        description: "Applies at once, to running scripts as well.",
        params: roleParamsSchema,
        body: patchRoleBodySchema,
        response: { 200: changedRoleSchema, ...errorResponses(...BODY_ERRORS, "not_found", "name_taken") },
      },
    },
    async (request) => roles.change(request.params.id, request.body),
  );
}
