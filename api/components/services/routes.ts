/** HTTP of the services feature: what differs from modules, and regenerating tools from the stored definition. */
import type { FastifyRequest } from "fastify";
import type { z } from "zod";
import type { App } from "#api/http/app-type.ts";
import { guardRoutes, requireScope } from "#api/http/auth.ts";
import { BODY_ERRORS, errorResponses } from "#api/http/responses.ts";
import type { CarrySecrets, ServiceSight } from "../ports.ts";
import { registerComponent } from "../routes.ts";
import { serviceNotFound } from "./context.ts";
import {
  createServiceBodySchema,
  installServiceBodySchema,
  patchServiceBodySchema,
  previewServiceBodySchema,
  serviceDetailsSchema,
  serviceFilterSchema,
  serviceListSchema,
  serviceParamsSchema,
  servicePreviewSchema,
  updatedAnswerSchema,
} from "./model.ts";
import type { Services } from "./service.ts";

const downloading = ["payload_too_large", "egress_refused", "download_failed"] as const;
const reading = ["invalid_definition", "adapter_inactive"] as const;
const asking = ["invalid_descriptor", "hash_mismatch"] as const;
const handing = ["not_found", "service_failed", "secrets_outdated"] as const;
/** A definition of 30 MiB, as much again for JSON escapes in it, and the rest of the request. */
const MAX_CONTENT_BODY_BYTES = 64 * 1024 * 1024;

type SightOf = (request: FastifyRequest) => ServiceSight;

export function registerServiceRoutes(
  app: App,
  services: Services,
  sightOf: SightOf,
  carryFor: (request: FastifyRequest) => CarrySecrets,
): void {
  guardRoutes(app, "/services/:id", async (request) => {
    const { id } = request.params as { id: string };
    if (!(await sightOf(request).visible([id])).has(id)) throw serviceNotFound(id);
  });
  registerComponent(app, {
    kind: "service",
    params: serviceParamsSchema,
    list: {
      summary: "Services, the last installed first",
      filter: serviceFilterSchema,
      answer: serviceListSchema,
      run: (filter: z.output<typeof serviceFilterSchema>, page, request) =>
        services.list(filter, page, sightOf(request)),
    },
    get: {
      summary: "One service, with the schemas of its settings",
      answer: serviceDetailsSchema,
      run: (id) => services.get(id),
    },
    install: {
      summary: "Install a service from a definition",
      description:
        "The service starts disabled, its tools enabled. Nothing is stored unless the adapter can make tools of the definition.",
      body: createServiceBodySchema,
      maxBodyBytes: MAX_CONTENT_BODY_BYTES,
      errors: [...reading, ...downloading, "service_taken"],
      async run(body, request) {
        await services.create(body, sightOf(request));
        return body.id;
      },
    },
    installFrom: {
      summary: "Install a service from a registry",
      description:
        "`source` answers `{downloadUrl, hash?, id?, adapter?}`. What the request says wins; a `hash` must be that of the download.",
      body: installServiceBodySchema,
      errors: [...reading, ...downloading, "service_taken", ...asking],
      run: (body, request) => services.install(body, sightOf(request)),
    },
    updated: updatedAnswerSchema,
    replace: {
      summary: "Give a service another definition",
      description:
        "Flags of tools that stay are kept. New tools start enabled, or disabled if the service is enabled. On failure nothing changes.",
      body: patchServiceBodySchema,
      maxBodyBytes: MAX_CONTENT_BODY_BYTES,
      errors: [...reading, ...downloading, ...handing],
      run: (id, body, request) => services.patch(id, body, carryFor(request)),
    },
    update: {
      summary: "Take the definition that the registry has now",
      errors: [...reading, ...downloading, ...asking, "no_source", ...handing],
      run: (id, request) => services.update(id, carryFor(request)),
    },
    enable: {
      summary: "Enable or disable a service",
      description:
        "Enabling needs config and secrets that fit their schemas and an active adapter; if the adapter cannot take the service on, it stays disabled and the answer is 502.",
      errors: ["service_stale", "adapter_inactive", ...handing, "secrets_key_missing"],
      run: (id, enabled) => services.setEnabled(id, enabled),
    },
    remove: {
      summary: "Delete a service with its tools, settings and secrets",
      errors: [],
      run: (id) => services.remove(id),
    },
  });

  app.post(
    "/services/preview",
    {
      onRequest: requireScope("services:admin"),
      bodyLimit: MAX_CONTENT_BODY_BYTES,
      schema: {
        tags: ["services"],
        summary: "What a definition would become",
        description: "Its tools with what they do, before anything is installed. Nothing is stored.",
        body: previewServiceBodySchema,
        response: {
          200: servicePreviewSchema,
          ...errorResponses(...BODY_ERRORS, ...reading, ...downloading),
        },
      },
    },
    (request) => services.preview(request.body),
  );

  app.post(
    "/services/:id/sync",
    {
      onRequest: requireScope("services:admin"),
      schema: {
        tags: ["services"],
        summary: "Regenerate the tools from the stored definition",
        params: serviceParamsSchema,
        response: { 200: updatedAnswerSchema, ...errorResponses(...BODY_ERRORS, ...reading, ...handing) },
      },
    },
    async (request) => {
      const { id } = request.params;
      await services.sync(id);
      return { id, updated: true };
    },
  );
}
