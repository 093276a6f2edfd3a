/** The roles over HTTP. All of it needs `keys:admin`. */
import { z } from "zod";
import type { App } from "#api/http/app-type.ts";
import { requireScope } from "#api/http/auth.ts";
import { decodeCursor, encodeCursor, pageQuerySchema } from "#api/http/cursor.ts";
import { BODY_ERRORS, errorResponses } from "#api/http/responses.ts";
import {
  changedRoleSchema,
  createRoleBodySchema,
  patchRoleBodySchema,
  roleListSchema,
  roleParamsSchema,
  roleSchema,
} from "./model.ts";
import type { Roles } from "./service.ts";

const CURSOR_KIND = "roles";
const positionSchema = z.int().positive();
const admin = { onRequest: requireScope("keys:admin") };
const tags = ["roles"];

export function registerRoleRoutes(app: App, roles: Roles): void {
  app.get(
    "/roles",
    {
      ...admin,
      schema: {
        tags,
        summary: "Roles, newest first",
        querystring: pageQuerySchema,
        response: { 200: roleListSchema, ...errorResponses("invalid_request", "invalid_cursor") },
      },
    },
    async (request) => {
      const { limit, cursor } = request.query;
      const before = cursor === undefined ? null : decodeCursor(CURSOR_KIND, positionSchema, cursor);
      const page = await roles.list({ before, limit });
      return {
        roles: page.roles,
        nextCursor: page.next === null ? null : encodeCursor(CURSOR_KIND, page.next),
      };
    },
  );

  app.post(
    "/roles",
    {
      ...admin,
      schema: {
        tags,
        summary: "Make a role",
        description: "A pattern that no installed tool matches is accepted; `hints` says so.",
        body: createRoleBodySchema,
        response: {
          201: changedRoleSchema,
          ...errorResponses(...BODY_ERRORS, "name_taken", "limit_reached"),
        },
      },
    },
    async (request, reply) => {
      const role = await roles.create(request.body);
      return reply.status(201).header("location", `/roles/${role.id}`).send(role);
    },
  );

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

  app.delete(
    "/roles/:id",
    {
      ...admin,
      schema: {
        tags,
        summary: "Delete a role that no key and no policy names",
        params: roleParamsSchema,
        response: {
          204: z.null().describe("Deleted."),
          ...errorResponses("invalid_request", "not_found", "role_in_use", "shutting_down"),
        },
      },
    },
    async (request, reply) => {
      await roles.remove(request.params.id);
      return reply.status(204).send(null);
    },
  );
}
