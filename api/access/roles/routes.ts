/** The roles over HTTP. */
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
    list: { summary: "Roles, newest first", answer: roleListSchema },
    create: {
      summary: "Make a role",
      description: "A pattern that no installed tool matches is accepted; `hints` says so.",
      body: createRoleBodySchema,
      answer: changedRoleSchema,
      errors: ["name_taken", "limit_reached"],
    },
    remove: {
      summary: "Delete a role that no key and no policy names",
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
        summary: "One role",
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
        summary: "Change a role, also for scripts that run",
        params: roleParamsSchema,
        body: patchRoleBodySchema,
        response: { 200: changedRoleSchema, ...errorResponses(...BODY_ERRORS, "not_found", "name_taken") },
      },
    },
    async (request) => roles.change(request.params.id, request.body),
  );
}
