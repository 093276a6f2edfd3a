/** Builds the state that an adapter receives: rows, settings and secrets, with defaults filled in. */
import { type Config, compileSettings } from "#api/components/settings/schema.ts";
import type {
  AdapterModule,
  DefinitionContext,
  JSONSchema,
  SecretUse,
  ServiceDefinition,
  ServiceState,
} from "#sdk";
import { readConfig } from "../../settings/store.ts";
import { type ServiceContext, serviceNotFound } from "../context.ts";
import { findServiceDetails, readAdapterDomain } from "../store.ts";
import { readToolDomains } from "../store-tools.ts";
import {
  type Destination,
  findMisplaced,
  findSecretOrigins,
  hasSecrets,
  rebind,
  type SecretsOwner,
  secretsOutdated,
} from "./secret-origins.ts";

export interface ServiceSettings {
  config: Config;
  secrets: Config;
}

export interface ServiceParts extends SecretsOwner {
  version: number;
  configSchema: JSONSchema;
  secretsSchema: JSONSchema;
  adapterDomain: unknown;
  tools: Record<string, { adapterDomain: unknown }>;
}

/**
 * Returns a copy, so that the adapter cannot change the host's data. Throws AppError `secrets_outdated` if the
 * secrets were set for other destinations than the adapter declares, and `service_failed` if it cannot declare them.
 */
export async function toServiceState(
  context: Pick<ServiceContext, "watch">,
  adapter: AdapterModule,
  parts: ServiceParts,
): Promise<ServiceState> {
  const state = fillIn(parts);
  if (!hasSecrets(parts)) return state;
  const origins = await findSecretOrigins(context, adapter, parts, useOf(state));
  if (findMisplaced(parts, origins).length > 0) throw secretsOutdated(parts, origins);
  return state;
}

export function originsOfParts(
  context: Pick<ServiceContext, "watch">,
  adapter: AdapterModule | null,
  parts: ServiceParts,
): Promise<Destination[]> {
  return findSecretOrigins(context, adapter, parts, useOf(fillIn(parts)));
}

function fillIn(parts: ServiceParts): ServiceState {
  const { id, adapterDomain, tools } = parts;
  return { id, adapterDomain, tools, ...withDefaults(parts, parts) };
}

function useOf({ adapterDomain, tools, config }: ServiceState): SecretUse {
  return { adapterDomain, tools, config };
}

function withDefaults(
  schemas: { configSchema: JSONSchema; secretsSchema: JSONSchema },
  { config, secrets }: ServiceSettings,
): ServiceSettings {
  return {
    config: compileSettings(schemas.configSchema).applyDefaults(config),
    secrets: compileSettings(schemas.secretsSchema).applyDefaults(secrets),
  };
}

/**
 * Also binds secrets stored by an older version to the destinations that `adapter` declares, because every change to
 * a service starts with this read.
 */
export async function readServiceParts(
  { pool, secrets, watch }: Pick<ServiceContext, "pool" | "secrets" | "watch">,
  adapter: AdapterModule | null,
  id: string,
): Promise<ServiceParts | null> {
  const row = await findServiceDetails(pool, id);
  if (row === null) return null;
  const { configSchema, secretsSchema, hash } = row;
  const owner = { kind: "service", id } as const;
  const { config } = await readConfig(pool, owner);
  const { values, origins, version } = await secrets.read(pool, owner);
  const [adapterDomain, tools] = [await readAdapterDomain(pool, id), await readToolDomains(pool, id)];
  const schemas = { configSchema, secretsSchema };
  const parts = { id, hash, ...schemas, adapterDomain, tools, config, secrets: values, origins, version };
  const bound = await rebind({ watch }, adapter, parts, () => useOf(fillIn(parts)));
  if (bound === null) return parts;
  await secrets.bind(pool, owner, bound, version);
  return { ...parts, origins: bound };
}

export async function requireServiceParts(
  context: Pick<ServiceContext, "pool" | "secrets" | "watch">,
  adapter: AdapterModule | null,
  id: string,
): Promise<ServiceParts> {
  const parts = await readServiceParts(context, adapter, id);
  if (parts === null) throw serviceNotFound(id);
  return parts;
}

/**
 * Returns the settings with which an adapter may contact the definition's server. Omits secrets that a new definition
 * would send elsewhere; if changed settings alone would do so, throws AppError `secrets_outdated`.
 */
export async function readDefinitionContext(
  context: ServiceContext,
  adapter: AdapterModule,
  { text, hash }: { text: string; hash: string },
  id: string,
): Promise<DefinitionContext> {
  const parts = await requireServiceParts(context, adapter, id);
  const { config, secrets } = hash === parts.hash ? withDefaults(parts, parts) : parts;
  const { tools } = parts;
  if (!hasSecrets(parts)) return { config, secrets, tools };
  const origins = await findSecretOrigins(context, adapter, { ...parts, hash }, { definition: text, config });
  if (findMisplaced(parts, origins).length === 0) return { config, secrets, tools };
  if (adapter.secretOrigins !== undefined && hash === parts.hash) throw secretsOutdated(parts, origins);
  return { config, secrets: {}, secretsWithheld: true, tools };
}

export function partsOfDefinition(
  { id, hash }: { id: string; hash: string },
  definition: ServiceDefinition,
  { config, secrets, origins, version }: ServiceParts,
): ServiceParts {
  const { configSchema, secretsSchema } = definition;
  // Copy through JSON, so that the adapter gets the same state now as after a restart.
  const adapterDomain = copyJson(definition.adapterDomain);
  const tools = Object.fromEntries(
    definition.tools.map((tool) => [tool.id, { adapterDomain: copyJson(tool.adapterDomain) }]),
  );
  const schemas = { configSchema, secretsSchema };
  return { id, hash, ...schemas, adapterDomain, tools, config, secrets, origins, version };
}

function copyJson(value: unknown): unknown {
  return value === undefined ? null : JSON.parse(JSON.stringify(value));
}
