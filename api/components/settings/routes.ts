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

interface Differences {
  isConfigOpen: boolean;
  readingErrors: readonly ErrorCode[];
  schemaErrors: readonly ErrorCode[];
  patchErrors: readonly ErrorCode[];
  patchConfig: string;
  patchSecrets: string;
}

const DIFFERENCES: Record<Owner["kind"], Differences> = {
  module: {
    isConfigOpen: true,
    readingErrors: ["module_failed"],
    schemaErrors: ["module_missing"],
    patchErrors: ["module_missing", "environments_draining", "precondition_failed", "module_failed"],
    patchConfig:
      "The result must match the schema. An enabled module is restarted with it; if that fails nothing changes and the response is 502.",
    patchSecrets:
      "Works like a change of the configuration, except that values are never returned, required secrets may be missing while the module is disabled, and `test`, `copy` and `move` are refused.",
  },
  service: {
    isConfigOpen: false,
    readingErrors: [],
    schemaErrors: [],
    patchErrors: ["precondition_failed", "service_failed", "secrets_outdated", "secrets_key_missing"],
    patchConfig:
      "The result must match the schema; required settings may be missing while the service is disabled. An enabled service is handed to its adapter again: if that fails, nothing changes and the response is 502. It is 409 if the change would send secrets to another origin than they were set for.",
    patchSecrets:
      "Works like a change of the configuration, except that values are never returned and `test`, `copy` and `move` are refused. Each secret is bound to the origin that the service sends it to now: after that changes, set or remove all `outdated` secrets in one patch.",
  },
};

export function registerSettingsRoutes(
  app: App,
  kind: Owner["kind"],
  params: z.ZodObject<{ id: z.ZodString }>,
  settings: ComponentSettings,
  carryFor: (request: FastifyRequest) => CarrySecrets = () => null,
): void {
  const differences = DIFFERENCES[kind];
  const shared: Shared = {
    ...differences,
    kind,
    params,
    settings,
    tags: [`${kind}s`],
    owner: kind === "module" ? "Module" : "Service",
    path: `/${kind}s/:id`,
    admin: { onRequest: requireScope(`${kind}s:admin`) },
    errors: (...codes) => errorResponses("invalid_request", "not_found", ...codes),
    patching: (...codes) => errorResponses(...BODY_ERRORS, "not_found", ...differences.patchErrors, ...codes),
  };
  registerConfigRoutes(app, shared, carryFor);
  registerSecretsRoutes(app, shared);
}

interface Shared extends Differences {
  kind: Owner["kind"];
  params: z.ZodObject<{ id: z.ZodString }>;
  settings: ComponentSettings;
  tags: string[];
  owner: "Module" | "Service";
  path: `/${Owner["kind"]}s/:id`;
  admin: { onRequest: ReturnType<typeof requireScope> };
  errors(...codes: readonly ErrorCode[]): ReturnType<typeof errorResponses>;
  patching(...codes: readonly ErrorCode[]): ReturnType<typeof errorResponses>;
}

const security = [{ key: [] }];

function registerConfigRoutes(
  app: App,
  { kind, params, settings, tags, owner, path, admin, errors, patching, ...differences }: Shared,
  carryFor: (request: FastifyRequest) => CarrySecrets,
): void {
  app.get(
    `${path}/config`,
    {
      onRequest: differences.isConfigOpen ? requireKey() : admin.onRequest,
      schema: {
        ...(differences.isConfigOpen ? { tags, security } : { tags }),
        operationId: `get${owner}Config`,
        summary: `Read the configuration of a ${kind}`,
        description:
          "Returns what was set; defaults are in the schema. Send the `ETag` as `If-Match` of a change.",
        params,
        response: { 200: configAnswerSchema, ...errors(...differences.readingErrors) },
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
        tags,
        security,
        operationId: `get${owner}ConfigSchema`,
        summary: `Read the JSON Schema of a ${kind}'s configuration`,
        description: "Includes the defaults of unset values.",
        params,
        response: { 200: configSchemaAnswerSchema, ...errors(...differences.schemaErrors) },
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
        operationId: `patch${owner}Config`,
        summary: `Change the configuration of a ${kind} by JSON Patch`,
        description: differences.patchConfig,
        params,
        headers,
        body: patchBodySchema,
        response: { 200: configAnswerSchema, ...patching() },
      },
    },
    async (request, reply) => {
      const component = { kind, id: request.params.id };
      const { version, ...answer } = await settings.patchConfig(
        component,
        request.body,
        request.headers["if-match"],
        carryFor(request),
      );
      void reply.header("etag", formatEntityTag(version));
      return answer;
    },
  );
}

function registerSecretsRoutes(
  app: App,
  { kind, params, settings, tags, owner, path, admin, errors, patching, ...differences }: Shared,
): void {
  app.get(
    `${path}/secrets`,
    {
      ...admin,
      schema: {
        tags,
        operationId: `get${owner}Secrets`,
        summary: `List which secrets of a ${kind} are set`,
        description: "Returns JSON pointers; values are never returned.",
        params,
        response: {
          200: secretsAnswerSchema,
          ...errors(...differences.readingErrors, "secrets_key_missing"),
        },
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
        tags,
        security,
        operationId: `get${owner}SecretsSchema`,
        summary: `Read the JSON Schema of a ${kind}'s secrets`,
        description: "Says which secrets can be set, and which are required.",
        params,
        response: { 200: secretsSchemaAnswerSchema, ...errors(...differences.schemaErrors) },
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
        operationId: `patch${owner}Secrets`,
        summary: `Change the secrets of a ${kind} by JSON Patch`,
        description: differences.patchSecrets,
        params,
        headers,
        body: patchBodySchema,
        response: { 200: secretsUpdatedSchema, ...patching("secrets_key_missing") },
      },
    },
    async (request, reply) => {
      const component = { kind, id: request.params.id };
      const version = await settings.patchSecrets(component, request.body, request.headers["if-match"]);
      void reply.header("etag", formatEntityTag(version));
      return { updated: true as const };
    },
  );
}
