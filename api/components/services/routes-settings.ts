/** HTTP of the settings of services: JSON Patch under an entity tag. Values are for `services:admin` only. */
import { z } from "zod";
import { formatEntityTag } from "#api/components/settings/entity-tag.ts";
import { patchBodySchema } from "#api/components/settings/patch-model.ts";
import type { App } from "#api/http/app-type.ts";
import { requireKey, requireScope } from "#api/http/auth.ts";
import { BODY_ERRORS, errorResponses } from "#api/http/responses.ts";
import {
  configAnswerSchema,
  configSchemaAnswerSchema,
  secretsAnswerSchema,
  secretsSchemaAnswerSchema,
  secretsUpdatedSchema,
  serviceParamsSchema,
} from "./model.ts";
import type { Services } from "./service.ts";

const tags = ["services"];
const admin = { onRequest: requireScope("services:admin") };
const params = serviceParamsSchema;
const headers = z.object({
  "if-match": z
    .string()
    .optional()
    .describe("`ETag` of the state the patch was made for; 412 if it has changed."),
});
const reading = errorResponses("invalid_request", "not_found");
const readingSecrets = errorResponses("invalid_request", "not_found", "secrets_key_missing");
const patching = errorResponses(
  ...BODY_ERRORS,
  "not_found",
  "precondition_failed",
  "service_failed",
  "secrets_outdated",
  "secrets_key_missing",
);

export function registerServiceSettingsRoutes(app: App, services: Services): void {
  registerSchemas(app, services);

  app.get(
    "/services/:id/config",
    {
      ...admin,
      schema: {
        tags,
        summary: "The configuration of a service",
        params,
        response: { 200: configAnswerSchema, ...reading },
      },
    },
    async (request, reply) => {
      const { version, ...answer } = await services.readConfig(request.params.id);
      void reply.header("etag", formatEntityTag(version));
      return answer;
    },
  );

  app.patch(
    "/services/:id/config",
    {
      ...admin,
      schema: {
        tags,
        summary: "Change the configuration by JSON Patch",
        description:
          "The result must fit the schema; what is required may lack while the service is disabled. An enabled service is handed to its adapter anew; if that fails nothing changes and the answer is 502, and 409 if its secrets would go to another place than they were set for.",
        params,
        headers,
        body: patchBodySchema,
        response: { 200: configAnswerSchema, ...patching },
      },
    },
    async (request, reply) => {
      const ifMatch = request.headers["if-match"];
      const { version, ...answer } = await services.patchConfig(request.params.id, request.body, ifMatch);
      void reply.header("etag", formatEntityTag(version));
      return answer;
    },
  );

  app.get(
    "/services/:id/secrets",
    {
      ...admin,
      schema: {
        tags,
        summary: "Which secrets of a service are set",
        params,
        response: { 200: secretsAnswerSchema, ...readingSecrets },
      },
    },
    async (request, reply) => {
      const { version, ...answer } = await services.readSecrets(request.params.id);
      void reply.header("etag", formatEntityTag(version));
      return answer;
    },
  );

  app.patch(
    "/services/:id/secrets",
    {
      ...admin,
      schema: {
        tags,
        summary: "Change the secrets by JSON Patch",
        description:
          "As for the configuration, except that values are never returned and `test` is refused: it would tell what they are. They are bound to where the service sends them now: after a change of that set or remove all of them in one patch.",
        params,
        headers,
        body: patchBodySchema,
        response: { 200: secretsUpdatedSchema, ...patching },
      },
    },
    async (request, reply) => {
      const ifMatch = request.headers["if-match"];
      const version = await services.patchSecrets(request.params.id, request.body, ifMatch);
      void reply.header("etag", formatEntityTag(version));
      return { updated: true as const };
    },
  );
}

function registerSchemas(app: App, services: Services): void {
  const anyKey = { onRequest: requireKey() };
  const security = [{ key: [] }];

  app.get(
    "/services/:id/config/schema",
    {
      ...anyKey,
      schema: {
        tags,
        security,
        summary: "The JSON Schema of the configuration",
        params,
        response: { 200: configSchemaAnswerSchema, ...reading },
      },
    },
    async (request) => {
      const { configSchema } = await services.readSchemas(request.params.id);
      return { configSchema };
    },
  );

  app.get(
    "/services/:id/secrets/schema",
    {
      ...anyKey,
      schema: {
        tags,
        security,
        summary: "The JSON Schema of the secrets",
        params,
        response: { 200: secretsSchemaAnswerSchema, ...reading },
      },
    },
    async (request) => {
      const { secretsSchema } = await services.readSchemas(request.params.id);
      return { secretsSchema };
    },
  );
}
