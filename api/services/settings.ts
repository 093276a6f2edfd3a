/**
 * Config and secrets of services: read, and changed by JSON Patch under an entity tag. Secret values go in and never
 * come out.
 */
import { changedMeanwhile, requireMatch } from "#api/settings/entity-tag.ts";
import { patchConfig } from "#api/settings/patch.ts";
import type { PatchOperation } from "#api/settings/patch-model.ts";
import { type Config, compileSettings, type SettingsSubject } from "#api/settings/schema.ts";
import { listPointers, refuseTests } from "#api/settings/write-only.ts";
import type { JSONSchema } from "#sdk";
import { AppError } from "../errors.ts";
import { type ServiceContext, serviceNotFound } from "./context.ts";
import { handOver } from "./lifecycle/handover.ts";
import { ownerKey } from "./lifecycle/hydration.ts";
import { readServiceParts } from "./lifecycle/state.ts";
import type { ConfigAnswer, SecretsAnswer } from "./model.ts";
import {
  findServiceDetails,
  readConfig,
  type ServiceRow,
  type ServiceSchemas,
  setServiceError,
  writeConfig,
} from "./store.ts";
import { SERVICE_CONFIG, SERVICE_SECRETS } from "./subjects.ts";

/** An answer and the version its entity tag is made of. */
export type Versioned<T> = T & { version: number };

type Details = ServiceRow & ServiceSchemas;

export async function readServiceConfig(
  context: ServiceContext,
  id: string,
): Promise<Versioned<ConfigAnswer>> {
  const { configSchema } = await requireDetails(context, id);
  const { config, version } = await readConfig(context.pool, id);
  return { config, outdated: compileSettings(configSchema, SERVICE_CONFIG).findOutdated(config), version };
}

export async function readServiceSecrets(
  context: ServiceContext,
  id: string,
): Promise<Versioned<SecretsAnswer>> {
  const { secretsSchema } = await requireDetails(context, id);
  const { values, version } = await context.secrets.read(context.pool, { kind: "service", id });
  const outdated = compileSettings(secretsSchema, SERVICE_SECRETS).findOutdated(values);
  return { present: listPointers(values).sort(), outdated, version };
}

export async function readServiceSchemas(context: ServiceContext, id: string): Promise<ServiceSchemas> {
  const { configSchema, secretsSchema } = await requireDetails(context, id);
  return { configSchema, secretsSchema };
}

/** Throws AppError; then nothing has changed, neither here nor in the adapter. */
export async function patchServiceConfig(
  context: ServiceContext,
  id: string,
  operations: PatchOperation[],
  ifMatch: string | undefined,
): Promise<Versioned<ConfigAnswer>> {
  return context.changes.run(id, async () => {
    const row = await requireDetails(context, id);
    const current = await readConfig(context.pool, id);
    requireMatch(ifMatch, current.version, SERVICE_CONFIG.noun);
    const config = patchConfig(current.config, operations, SERVICE_CONFIG);
    requireFit(row.configSchema, config, SERVICE_CONFIG, row.enabled);
    if (isSame(config, current.config)) return { config, outdated: [], version: current.version };
    const version = await change(context, row, { config }, async () => {
      const written = await writeConfig(context.pool, id, config, current.version);
      if (written !== null) return written;
      throw changedMeanwhile((await readConfig(context.pool, id)).version, SERVICE_CONFIG.noun);
    });
    const outdated = compileSettings(row.configSchema, SERVICE_CONFIG).findOutdated(config);
    return { config, outdated, version };
  });
}

/** Throws AppError; then nothing has changed, neither here nor in the adapter. Resolves to the new version. */
export async function patchServiceSecrets(
  context: ServiceContext,
  id: string,
  operations: PatchOperation[],
  ifMatch: string | undefined,
): Promise<number> {
  refuseTests(operations);
  const owner = { kind: "service", id } as const;
  return context.changes.run(id, async () => {
    const { pool, secrets, watch } = context;
    const row = await requireDetails(context, id);
    const current = await secrets.read(pool, owner);
    requireMatch(ifMatch, current.version, SERVICE_SECRETS.noun);
    const values = patchConfig(current.values, operations, SERVICE_SECRETS);
    requireFit(row.secretsSchema, values, SERVICE_SECRETS, row.enabled);
    if (isSame(values, current.values)) return current.version;
    try {
      watch.setOwner(ownerKey(id), values);
      return await change(context, row, { secrets: values }, async () => {
        const written = await secrets.write(pool, owner, values, current.version);
        if (written !== null) return written;
        throw changedMeanwhile((await secrets.read(pool, owner)).version, SERVICE_SECRETS.noun);
      });
    } catch (error) {
      watch.setOwner(ownerKey(id), current.values);
      throw error;
    }
  });
}

/** The adapter first, then the row. */
async function change(
  context: ServiceContext,
  row: Details,
  changed: { config?: Config; secrets?: Config },
  store: () => Promise<number>,
): Promise<number> {
  if (!row.enabled || row.stale || context.adapters.get(row.adapter) === null) return store();
  const parts = await readServiceParts(context.pool, context.secrets, row.id);
  if (parts === null) throw serviceNotFound(row.id);
  const version = await handOver(
    context,
    row,
    { next: { ...parts, ...changed }, newDefinition: false },
    store,
  );
  await setServiceError(context.pool, row.id, null);
  return version;
}

/** Settings of a service that is not in use may still lack what is required. */
function requireFit(schema: JSONSchema, values: Config, subject: SettingsSubject, enabled: boolean): void {
  const settings = compileSettings(schema, subject);
  const issues = settings.findIssues(settings.applyDefaults(values), { incomplete: !enabled });
  const [first] = issues;
  if (first === undefined) return;
  const rest = issues.length > 1 ? ` (and ${issues.length - 1} more)` : "";
  throw new AppError(
    "invalid_request",
    `The ${subject.noun} would not fit the schema: ${first.path} ${first.message}${rest}.`,
    { issues },
  );
}

async function requireDetails(context: ServiceContext, id: string): Promise<Details> {
  const details = await findServiceDetails(context.pool, id);
  if (details === null) throw serviceNotFound(id);
  return details;
}

function isSame(left: Config, right: Config): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
