/** A service as its adapter is handed it: rows, settings and secrets put together, defaults filled in. */
import type { Db } from "#api/db/pool.ts";
import { type Config, compileSettings } from "#api/settings/schema.ts";
import type { JSONSchema, ServiceDefinition, ServiceState } from "#sdk";
import type { SecretStore } from "../ports.ts";
import { findServiceDetails, readAdapterDomain, readConfig } from "../store.ts";
import { readToolDomains } from "../store-tools.ts";

/** What of a service is not of its definition. */
export interface ServiceSettings {
  config: Config;
  secrets: Config;
}

export interface ServiceParts extends ServiceSettings {
  id: string;
  configSchema: JSONSchema;
  secretsSchema: JSONSchema;
  adapterDomain: unknown;
  tools: Record<string, { adapterDomain: unknown }>;
}

/** A copy: what an adapter does to it reaches nothing of the host's. */
export function toServiceState(parts: ServiceParts): ServiceState {
  const { id, adapterDomain, tools } = parts;
  return { id, adapterDomain, tools, ...withDefaults(parts, parts) };
}

/** A copy of the settings with the defaults of their schemas. */
export function withDefaults(
  schemas: { configSchema: JSONSchema; secretsSchema: JSONSchema },
  { config, secrets }: ServiceSettings,
): ServiceSettings {
  return {
    config: compileSettings(schemas.configSchema).applyDefaults(config),
    secrets: compileSettings(schemas.secretsSchema).applyDefaults(secrets),
  };
}

/** As it is stored. Null when there is no such service. */
export async function readServiceParts(
  db: Db,
  secrets: SecretStore,
  id: string,
): Promise<ServiceParts | null> {
  const row = await findServiceDetails(db, id);
  if (row === null) return null;
  const { configSchema, secretsSchema } = row;
  const settings = await readServiceSettings(db, secrets, id);
  const [adapterDomain, tools] = [await readAdapterDomain(db, id), await readToolDomains(db, id)];
  return { id, configSchema, secretsSchema, adapterDomain, tools, ...settings };
}

export async function readServiceSettings(
  db: Db,
  secrets: SecretStore,
  id: string,
): Promise<ServiceSettings> {
  const { config } = await readConfig(db, id);
  const { values } = await secrets.read(db, { kind: "service", id });
  return { config, secrets: values };
}

/** As a definition makes it, before it is stored. */
export function partsOfDefinition(
  id: string,
  definition: ServiceDefinition,
  settings: ServiceSettings,
): ServiceParts {
  const { configSchema, secretsSchema } = definition;
  // What the adapter is handed must be what it will be handed after a restart: data that went through JSON.
  const adapterDomain = copyJson(definition.adapterDomain);
  const tools = Object.fromEntries(
    definition.tools.map((tool) => [tool.id, { adapterDomain: copyJson(tool.adapterDomain) }]),
  );
  return { id, configSchema, secretsSchema, adapterDomain, tools, ...settings };
}

function copyJson(value: unknown): unknown {
  return value === undefined ? null : JSON.parse(JSON.stringify(value));
}
