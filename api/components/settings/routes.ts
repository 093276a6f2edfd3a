/**
 * HTTP of the settings of modules and services: JSON Patch under an entity tag. Secret values are write-only.
 */
import type { FastifyRequest } from "fastify";
import type { z } from "zod";
import type { ErrorCode } from "#api/errors.ts";
import type { App } from "#api/http/app-type.ts";
import { requireKey, requireScope } from "#api/http/auth.ts";
import { BODY_ERRORS, errorResponses } from "#api/http/responses.ts";
import type { CarrySecrets, Owner } from "../ports.ts";
import { formatEntityTag } from "./entity-tag.ts";
import {
  configAnswerSchema,
  configSchemaAnswerSchema,
  settingsHeadersSchema as headers,
  secretsAnswerSchema,
  secretsSchemaAnswerSchema,
  secretsUpdatedSchema,
} from "./model.ts";
import { patchBodySchema } from "./patch-model.ts";
import type { ComponentSettings } from "./service.ts";

/** What differs between the routes of modules and those of services. */
interface Differences {
  /** Whether any key may read the configuration. */
  isConfigOpen: boolean;
  readingErrors: readonly ErrorCode[];
  schemaErrors: readonly ErrorCode[];
  patchErrors: readonly ErrorCode[];
  configSchemaSummary: string;
  patchConfig: string;
  patchSecrets: string;
}

const DIFFERENCES: Record<Owner["kind"], Differences> = {
  module: {
    isConfigOpen: true,
    readingErrors: ["module_failed"],
    schemaErrors: ["module_missing"],
    patchErrors: ["module_missing", "environments_draining", "precondition_failed", "module_failed"],
    configSchemaSummary: "The JSON Schema of the configuration, with its defaults",
    patchConfig:
      "The result must fit the schema. An enabled module is restarted with it; if that fails nothing changes and the answer is 502.",
    patchSecrets:
      "As for the configuration, except that values are never returned, that what is required may lack while the module is disabled, and that `test`, `copy` and `move` are refused.",
  },
  service: {
    isConfigOpen: false,
    readingErrors: [],
    schemaErrors: [],
    patchErrors: ["precondition_failed", "service_failed", "secrets_outdated", "secrets_key_missing"],
    configSchemaSummary: "The JSON Schema of the configuration",
    patchConfig:
      "The result must fit the schema; what is required may lack while the service is disabled. An enabled service is handed to its adapter again; if that fails nothing changes and the answer is 502, and 409 if its secrets would go to another place than they were set for.",
    patchSecrets:
      "As for the configuration, except that values are never returned and `test`, `copy` and `move` are refused. Each is bound to where the service sends it now: after a change of that set or remove all that are `outdated` in one patch.",
  },
};

/** The routes below `/modules/:id` or `/services/:id`. */
export function registerSettingsRoutes(
  app: App,
  kind: Owner["kind"],
  params: z.ZodObject<{ id: z.ZodString }>,
  settings: ComponentSettings,
  carryFor: (request: FastifyRequest) => CarrySecrets = () => null,
): void {
  const differences = DIFFERENCES[kind];
  const { readingErrors, schemaErrors, patchErrors, patchConfig, patchSecrets } = differences;
  const tags = [`${kind}s`];
  const path = `/${kind}s/:id` as const;
  const admin = { onRequest: requireScope(`${kind}s:admin`) };
  const security = [{ key: [] }];
  const openSchema = { tags, security };
  const errors = (...codes: readonly ErrorCode[]) => errorResponses("invalid_request", "not_found", ...codes);
  const patching = (...codes: ErrorCode[]) =>
    errorResponses(...BODY_ERRORS, "not_found", ...patchErrors, ...codes);

  app.get(
    `${path}/config`,
    {
      onRequest: differences.isConfigOpen ? requireKey() : admin.onRequest,
      schema: {
        ...(differences.isConfigOpen ? openSchema : { tags }),
        summary: `The configuration of a ${kind}`,
        params,
        response: { 200: configAnswerSchema, ...errors(...readingErrors) },
      },
    },
    async (request, reply) => {
      const { version, ...answer } = await settings.readConfig({ kind, id: request.params.id });
      void reply.header("etag", formatEntityTag(version));
      return answer;
    },
  );

  app.get(
    `${path}/config/schema`,
    {
      onRequest: requireKey(),
      schema: {
        ...openSchema,
        summary: differences.configSchemaSummary,
        params,
        response: { 200: configSchemaAnswerSchema, ...errors(...schemaErrors) },
      },
    },
    async (request) => ({
      configSchema: await settings.readSchema({ kind, id: request.params.id }, "config"),
    }),
  );

  app.patch(
    `${path}/config`,
    {
      ...admin,
      schema: {
        tags,
        summary: "Change the configuration by JSON Patch",
        description: patchConfig,
        params,
        headers,
        body: patchBodySchema,
        response: { 200: configAnswerSchema, ...patching() },
      },
    },
    async (request, reply) => {
      const owner = { kind, id: request.params.id };
      const { version, ...answer } = await settings.patchConfig(
        owner,
        request.body,
        request.headers["if-match"],
        carryFor(request),
      );
      void reply.header("etag", formatEntityTag(version));
      return answer;
    },
  );

  app.get(
    `${path}/secrets`,
    {
      ...admin,
      schema: {
        tags,
        summary: `Which secrets of a ${kind} are set`,
        params,
        response: { 200: secretsAnswerSchema, ...errors(...readingErrors, "secrets_key_missing") },
      },
    },
    async (request, reply) => {
      const { version, ...answer } = await settings.readSecrets({ kind, id: request.params.id });
      void reply.header("etag", formatEntityTag(version));
      return answer;
    },
  );

  app.get(
    `${path}/secrets/schema`,
    {
      onRequest: requireKey(),
      schema: {
        ...openSchema,
        summary: "The JSON Schema of the secrets",
        params,
        response: { 200: secretsSchemaAnswerSchema, ...errors(...schemaErrors) },
      },
    },
    async (request) => ({
      secretsSchema: await settings.readSchema({ kind, id: request.params.id }, "secrets"),
    }),
  );

  app.patch(
    `${path}/secrets`,
    {
      ...admin,
      schema: {
        tags,
        summary: "Change the secrets by JSON Patch",
        description: patchSecrets,
        params,
        headers,
        body: patchBodySchema,
        response: { 200: secretsUpdatedSchema, ...patching("secrets_key_missing") },
      },
    },
    async (request, reply) => {
      const owner = { kind, id: request.params.id };
      const version = await settings.patchSecrets(owner, request.body, request.headers["if-match"]);
      void reply.header("etag", formatEntityTag(version));
      return { updated: true as const };
    },
  );
}
