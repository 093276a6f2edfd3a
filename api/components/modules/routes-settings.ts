/** HTTP of the settings of modules: JSON Patch under an entity tag. Values of secrets go in and never come out. */
import { z } from "zod";
import type { App } from "#api/http/app-type.ts";
import { requireKey, requireScope } from "#api/http/auth.ts";
import { BODY_ERRORS, errorResponses } from "#api/http/responses.ts";
import { formatEntityTag } from "../settings/entity-tag.ts";
import { patchBodySchema } from "../settings/patch-model.ts";
import {
  configAnswerSchema,
  configSchemaAnswerSchema,
  moduleParamsSchema,
  secretsAnswerSchema,
  secretsSchemaAnswerSchema,
  secretsUpdatedSchema,
} from "./model.ts";
import type { Modules } from "./service.ts";

const tags = ["modules"];
const security = [{ key: [] }];
const params = moduleParamsSchema;
const headers = z.object({
  "if-match": z
    .string()
    .optional()
    .describe("`ETag` of the settings the patch was made for; 412 if they have changed."),
});
const reading = errorResponses("invalid_request", "not_found", "module_failed");
const readingSchema = errorResponses("invalid_request", "not_found", "module_missing");
const patching = [
  ...BODY_ERRORS,
  "not_found",
  "module_missing",
  "environments_draining",
  "precondition_failed",
  "module_failed",
] as const;

export function registerModuleSettingsRoutes(app: App, modules: Modules): void {
  registerConfigRoutes(app, modules);
  registerSecretsRoutes(app, modules);
}

function registerConfigRoutes(app: App, modules: Modules): void {
  app.get(
    "/modules/:id/config",
    {
      onRequest: requireKey(),
      schema: {
        tags,
        security,
        summary: "The configuration of a module",
        params,
        response: { 200: configAnswerSchema, ...reading },
      },
    },
    async (request, reply) => {
      const { version, ...answer } = await modules.readConfig(request.params.id);
      void reply.header("etag", formatEntityTag(version));
      return answer;
    },
  );

  app.get(
    "/modules/:id/config/schema",
    {
      onRequest: requireKey(),
      schema: {
        tags,
        security,
        summary: "The JSON Schema of the configuration, with its defaults",
        params,
        response: { 200: configSchemaAnswerSchema, ...readingSchema },
      },
    },
    async (request) => ({ configSchema: await modules.readSettingsSchema(request.params.id, "config") }),
  );

  app.patch(
    "/modules/:id/config",
    {
      onRequest: requireScope("modules:admin"),
      schema: {
        tags,
        summary: "Change the configuration by JSON Patch",
        description:
          "The result must fit the schema. An enabled module is started anew with it; if that fails nothing changes and the answer is 502.",
        params,
        headers,
        body: patchBodySchema,
        response: { 200: configAnswerSchema, ...errorResponses(...patching) },
      },
    },
    async (request, reply) => {
      const ifMatch = request.headers["if-match"];
      const { version, ...answer } = await modules.patchConfig(request.params.id, request.body, ifMatch);
      void reply.header("etag", formatEntityTag(version));
      return answer;
    },
  );
}

function registerSecretsRoutes(app: App, modules: Modules): void {
  app.get(
    "/modules/:id/secrets",
    {
      onRequest: requireScope("modules:admin"),
      schema: {
        tags,
        summary: "Which secrets of a module are set",
        params,
        response: {
          200: secretsAnswerSchema,
          ...errorResponses("invalid_request", "not_found", "module_failed", "secrets_key_missing"),
        },
      },
    },
    async (request, reply) => {
      const { version, ...answer } = await modules.readSecrets(request.params.id);
      void reply.header("etag", formatEntityTag(version));
      return answer;
    },
  );

  app.get(
    "/modules/:id/secrets/schema",
    {
      onRequest: requireKey(),
      schema: {
        tags,
        security,
        summary: "The JSON Schema of the secrets",
        params,
        response: { 200: secretsSchemaAnswerSchema, ...readingSchema },
      },
    },
    async (request) => ({ secretsSchema: await modules.readSettingsSchema(request.params.id, "secrets") }),
  );

  app.patch(
    "/modules/:id/secrets",
    {
      onRequest: requireScope("modules:admin"),
      schema: {
        tags,
        summary: "Change the secrets by JSON Patch",
        description:
          "As for the configuration, except that values are never returned, that what is required may lack while the module is disabled, and that `test` is refused: it would tell what they are.",
        params,
        headers,
        body: patchBodySchema,
        response: { 200: secretsUpdatedSchema, ...errorResponses(...patching, "secrets_key_missing") },
      },
    },
    async (request, reply) => {
      const ifMatch = request.headers["if-match"];
      const version = await modules.patchSecrets(request.params.id, request.body, ifMatch);
      void reply.header("etag", formatEntityTag(version));
      return { updated: true as const };
    },
  );
}
