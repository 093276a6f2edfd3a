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
/** Room for a 30 MiB definition, the same again for JSON escapes, and the rest of the request. */
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
      operationId: "listServices",
      summary: "List services, newest first",
      description: "Lists only services of which the role of this key shows a tool.",
      filter: serviceFilterSchema,
      answer: serviceListSchema,
      run: (filter: z.output<typeof serviceFilterSchema>, page, request) =>
        services.list(filter, page, sightOf(request)),
    },
    get: {
      operationId: "getService",
      summary: "Read a service",
      description: "Includes the JSON Schemas of its configuration and its secrets.",
      answer: serviceDetailsSchema,
      run: (id) => services.get(id),
    },
    install: {
      operationId: "installService",
      summary: "Install a service from a definition",
      description:
        "The service starts disabled, its tools enabled. Nothing is stored unless the adapter can generate tools from the definition.",
      body: createServiceBodySchema,
      maxBodyBytes: MAX_CONTENT_BODY_BYTES,
      errors: [...reading, ...downloading, "service_taken"],
      async run(body, request) {
        await services.create(body, sightOf(request));
        return body.id;
      },
    },
    installFrom: {
      operationId: "installServiceFromRegistry",
      summary: "Install a service from a registry",
      description:
        "`source` is the URL of a descriptor, `{downloadUrl, hash?, id?, adapter?}`. Fields of the request override it; the download must match `hash`.",
      body: installServiceBodySchema,
      errors: [...reading, ...downloading, "service_taken", ...asking],
      run: (body, request) => services.install(body, sightOf(request)),
    },
    updated: updatedAnswerSchema,
    replace: {
      operationId: "replaceService",
      summary: "Replace the definition of a service",
      description:
        "Tools that remain keep their flags. New tools start enabled, or disabled if the service is enabled. On failure nothing changes.",
      body: patchServiceBodySchema,
      maxBodyBytes: MAX_CONTENT_BODY_BYTES,
      errors: [...reading, ...downloading, ...handing],
      run: (id, body, request) => services.patch(id, body, carryFor(request)),
    },
    update: {
      operationId: "updateService",
      summary: "Update a service from its registry",
      description:
        "Downloads the definition that the service's `source` names now. On failure nothing changes.",
      errors: [...reading, ...downloading, ...asking, "no_source", ...handing],
      run: (id, request) => services.update(id, carryFor(request)),
    },
    enable: {
      operationId: "setServiceEnabled",
      summary: "Enable or disable a service",
      description:
        "Enabling needs configuration and secrets that match their schemas, and an active adapter. If the adapter rejects the service, it stays disabled and the response is 502.",
      errors: ["service_stale", "adapter_inactive", ...handing, "secrets_key_missing"],
      run: (id, enabled) => services.setEnabled(id, enabled),
    },
    remove: {
      operationId: "deleteService",
      summary: "Delete a service",
      description: "Deletes its tools, configuration and secrets too.",
      errors: [],
      run: (id) => services.remove(id),
    },
  });
  registerGenerating(app, services);
}

function registerGenerating(app: App, services: Services): void {
  app.post(
    "/services/preview",
    {
      onRequest: requireScope("services:admin"),
      bodyLimit: MAX_CONTENT_BODY_BYTES,
      schema: {
        tags: ["services"],
        operationId: "previewService",
        summary: "Preview the tools of a definition",
        description: "Returns the tools that an installation would create. Nothing is stored.",
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
        operationId: "syncService",
        summary: "Regenerate the tools of a service",
        description: "Generates the tools from the stored definition, with the adapter as it is now.",
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
