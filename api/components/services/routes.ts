/** HTTP of the services feature. Reading needs any key; changes need `services:admin`. */
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import type { App } from "#api/http/app-type.ts";
import { guardRoutes, requireKey, requireScope } from "#api/http/auth.ts";
import { createListing, pageQuerySchema } from "#api/http/cursor.ts";
import { BODY_ERRORS, errorResponses } from "#api/http/responses.ts";
import { enabledAnswerSchema, idAnswerSchema } from "../model.ts";
import type { ServiceSight } from "../ports.ts";
import { serviceNotFound } from "./context.ts";
import {
  createServiceBodySchema,
  enabledBodySchema,
  installServiceBodySchema,
  patchServiceBodySchema,
  serviceDetailsSchema,
  serviceFilterSchema,
  serviceListSchema,
  serviceParamsSchema,
  updatedAnswerSchema,
} from "./model.ts";
import type { Services } from "./service.ts";

const listing = createListing("services", z.int().positive());
const listQuerySchema = serviceFilterSchema.extend(pageQuerySchema.shape);
const anyKey = { tags: ["services"], security: [{ key: [] }] };
const admin = { tags: ["services"] };

const DOWNLOAD_ERRORS = ["payload_too_large", "egress_refused", "download_failed"] as const;
/** A definition of 30 MiB, with as much again for what JSON escapes in it, and the rest of the request. */
const MAX_CONTENT_BODY_BYTES = 64 * 1024 * 1024;
const DEFINITION_ERRORS = ["invalid_definition", "adapter_inactive"] as const;

export function registerServiceRoutes(app: App, services: Services, sightOf: SightOf): void {
  guardRoutes(app, "/services/:id", async (request) => {
    const { id } = request.params as { id: string };
    if (!(await sightOf(request).visible([id])).has(id)) throw serviceNotFound(id);
  });
  registerReading(app, services, sightOf);
  registerInstallation(app, services, sightOf);
  registerDefinitionChanges(app, services);
  registerSwitching(app, services);
}

type SightOf = (request: FastifyRequest) => ServiceSight;

function registerReading(app: App, services: Services, sightOf: SightOf): void {
  app.get(
    "/services",
    {
      onRequest: requireKey(),
      schema: {
        ...anyKey,
        summary: "Services, the last installed first",
        querystring: listQuerySchema,
        response: { 200: serviceListSchema, ...errorResponses("invalid_request", "invalid_cursor") },
      },
    },
    async (request) =>
      listing.answer(request.query, (page, filter) => services.list(filter, page, sightOf(request))),
  );

  app.get(
    "/services/:id",
    {
      onRequest: requireKey(),
      schema: {
        ...anyKey,
        summary: "One service, with the schemas of its settings",
        params: serviceParamsSchema,
        response: { 200: serviceDetailsSchema, ...errorResponses("invalid_request", "not_found") },
      },
    },
    async (request) => services.get(request.params.id),
  );
}

function registerInstallation(app: App, services: Services, sightOf: SightOf): void {
  app.post(
    "/services",
    {
      onRequest: requireScope("services:admin"),
      bodyLimit: MAX_CONTENT_BODY_BYTES,
      schema: {
        ...admin,
        summary: "Install a service from a definition",
        description:
          "The service starts disabled, its tools enabled. Nothing is stored unless the adapter can make tools of the definition.",
        body: createServiceBodySchema,
        response: {
          201: idAnswerSchema,
          ...errorResponses(...BODY_ERRORS, ...DEFINITION_ERRORS, ...DOWNLOAD_ERRORS, "service_taken"),
        },
      },
    },
    async (request, reply) => {
      const { id } = request.body;
      await services.create(request.body, sightOf(request));
      return reply.status(201).header("location", `/services/${id}`).send({ id });
    },
  );

  app.post(
    "/services/install",
    {
      onRequest: requireScope("services:admin"),
      schema: {
        ...admin,
        summary: "Install a service from a registry",
        description:
          "`source` answers `{downloadUrl, hash?, id?, adapter?}`. What the request says wins; a `hash` must be that of the download.",
        body: installServiceBodySchema,
        response: {
          201: idAnswerSchema,
          ...errorResponses(
            ...BODY_ERRORS,
            ...DEFINITION_ERRORS,
            ...DOWNLOAD_ERRORS,
            "service_taken",
            "invalid_descriptor",
            "hash_mismatch",
          ),
        },
      },
    },
    async (request, reply) => {
      const id = await services.install(request.body, sightOf(request));
      return reply.status(201).header("location", `/services/${id}`).send({ id });
    },
  );
}

function registerDefinitionChanges(app: App, services: Services): void {
  app.patch(
    "/services/:id",
    {
      onRequest: requireScope("services:admin"),
      bodyLimit: MAX_CONTENT_BODY_BYTES,
      schema: {
        ...admin,
        summary: "Give a service another definition",
        description:
          "Flags of tools that stay are kept. New tools start enabled, or disabled if the service is enabled. Whatever fails changes nothing.",
        params: serviceParamsSchema,
        body: patchServiceBodySchema,
        response: {
          200: updatedAnswerSchema,
          ...errorResponses(
            ...BODY_ERRORS,
            ...DEFINITION_ERRORS,
            ...DOWNLOAD_ERRORS,
            "not_found",
            "service_failed",
            "secrets_outdated",
          ),
        },
      },
    },
    async (request) => {
      const { id } = request.params;
      return { id, updated: await services.patch(id, request.body) };
    },
  );

  app.post(
    "/services/:id/update",
    {
      onRequest: requireScope("services:admin"),
      schema: {
        ...admin,
        summary: "Take the definition that the registry has now",
        params: serviceParamsSchema,
        response: {
          200: updatedAnswerSchema,
          ...errorResponses(
            ...BODY_ERRORS,
            ...DEFINITION_ERRORS,
            ...DOWNLOAD_ERRORS,
            "not_found",
            "no_source",
            "invalid_descriptor",
            "hash_mismatch",
            "service_failed",
            "secrets_outdated",
          ),
        },
      },
    },
    async (request) => {
      const { id } = request.params;
      return { id, updated: await services.update(id) };
    },
  );

  app.post(
    "/services/:id/sync",
    {
      onRequest: requireScope("services:admin"),
      schema: {
        ...admin,
        summary: "Make the tools anew of the stored definition",
        params: serviceParamsSchema,
        response: {
          200: updatedAnswerSchema,
          ...errorResponses(
            ...BODY_ERRORS,
            ...DEFINITION_ERRORS,
            "not_found",
            "service_failed",
            "secrets_outdated",
          ),
        },
      },
    },
    async (request) => {
      const { id } = request.params;
      await services.sync(id);
      return { id, updated: true };
    },
  );
}

function registerSwitching(app: App, services: Services): void {
  app.post(
    "/services/:id/enabled",
    {
      onRequest: requireScope("services:admin"),
      schema: {
        ...admin,
        summary: "Enable or disable a service",
        description:
          "Enabling needs config and secrets that fit their schemas and an active adapter; if the adapter cannot take the service on, it stays disabled and the answer is 502.",
        params: serviceParamsSchema,
        body: enabledBodySchema,
        response: {
          200: enabledAnswerSchema,
          ...errorResponses(
            ...BODY_ERRORS,
            "not_found",
            "service_stale",
            "adapter_inactive",
            "service_failed",
            "secrets_outdated",
            "secrets_key_missing",
          ),
        },
      },
    },
    async (request) => {
      const { id } = request.params;
      const { enabled } = request.body;
      await services.setEnabled(id, enabled);
      return { id, enabled };
    },
  );

  app.delete(
    "/services/:id",
    {
      onRequest: requireScope("services:admin"),
      schema: {
        ...admin,
        summary: "Delete a service with its tools, settings and secrets",
        params: serviceParamsSchema,
        response: {
          204: z.null().describe("Deleted."),
          ...errorResponses("invalid_request", "not_found", "shutting_down"),
        },
      },
    },
    async (request, reply) => {
      await services.remove(request.params.id);
      return reply.status(204).send(null);
    },
  );
}
