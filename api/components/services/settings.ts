/**
 * Config and secrets of services: read, and changed by JSON Patch under an entity tag. Secret values go in and never
 * come out.
 */
import { readFailure } from "#api/bounds/failure-text.ts";
import { changedMeanwhile, requireMatch } from "#api/components/settings/entity-tag.ts";
import { patchConfig } from "#api/components/settings/patch.ts";
import type { PatchOperation } from "#api/components/settings/patch-model.ts";
import { type Config, compileSettings, type SettingsSubject } from "#api/components/settings/schema.ts";
import { listPointers, patchAnew, refuseTests } from "#api/components/settings/write-only.ts";
import { AppError } from "#api/errors.ts";
import type { AdapterModule, JSONSchema } from "#sdk";
import { type ServiceContext, serviceNotFound } from "./context.ts";
import { handOver } from "./lifecycle/handover.ts";
import { ownerKey } from "./lifecycle/hydration.ts";
import { areBoundTo, hasSecrets } from "./lifecycle/secret-origins.ts";
import { originsOfParts, readServiceParts, type ServiceParts } from "./lifecycle/state.ts";
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
  const row = await requireDetails(context, id);
  const adapter = context.adapters.get(row.adapter);
  const parts = await requireParts(context, adapter, id);
  const present = listPointers(parts.secrets).sort();
  const origins = adapter === null ? null : await findOrigins(context, adapter, parts);
  return {
    present,
    outdated: findOutdatedSecrets(parts, adapter === null ? (parts.origins ?? []) : origins, present),
    version: parts.version,
  };
}

/** All of them, once the service has another place for them; which of them fit the schema would then tell something of them. */
function findOutdatedSecrets(
  parts: ServiceParts,
  origins: readonly string[] | null,
  present: string[],
): string[] {
  if (hasSecrets(parts) && (origins === null || !areBoundTo(parts, origins))) return present;
  return compileSettings(parts.secretsSchema, SERVICE_SECRETS).findOutdated(parts.secrets);
}

/** Null while the adapter cannot tell, for want of settings. */
async function findOrigins(
  context: ServiceContext,
  adapter: AdapterModule | null,
  parts: ServiceParts,
): Promise<string[] | null> {
  return originsOfParts(context, adapter, parts).catch(() => null);
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
    // What a version before has stored is bound to where it goes before that changes.
    await requireParts(context, context.adapters.get(row.adapter), id);
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
    const adapter = context.adapters.get(row.adapter);
    const current = await requireParts(context, adapter, id);
    requireMatch(ifMatch, current.version, SERVICE_SECRETS.noun);
    const origins = await findOrigins(context, adapter, current);
    const isBound = origins !== null && areBoundTo(current, origins);
    const values =
      isBound || !hasSecrets(current)
        ? patchConfig(current.secrets, operations, SERVICE_SECRETS)
        : patchAnew(current.secrets, operations, SERVICE_SECRETS, (kept) => keptOutdated(id, kept));
    requireFit(row.secretsSchema, values, SERVICE_SECRETS, row.enabled);
    const isEmpty = !hasSecrets({ secrets: values });
    const next = origins ?? (isEmpty ? [] : await requireOrigins(context, adapter, current));
    try {
      watch.setOwner(ownerKey(id), values);
      // Also when they are the same: that nothing has changed would tell that a guess was right.
      return await change(context, row, { secrets: values, origins: next }, async () => {
        const written = await secrets.write(pool, owner, values, current.version, next);
        if (written !== null) return written;
        throw changedMeanwhile((await secrets.read(pool, owner)).version, SERVICE_SECRETS.noun);
      });
    } catch (error) {
      watch.setOwner(ownerKey(id), current.secrets);
      throw error;
    }
  });
}

/** Secrets are kept with where they go: that has to be known first. */
async function requireOrigins(
  context: ServiceContext,
  adapter: AdapterModule | null,
  parts: ServiceParts,
): Promise<string[]> {
  try {
    return await originsOfParts(context, adapter, parts);
  } catch (error) {
    const reason = readFailure(error);
    throw new AppError(
      "invalid_request",
      `Secrets are stored for where they will be sent, and that is not known yet. ${reason} Set the configuration first, then the secrets.`,
      { issues: [{ path: "config", message: reason }], cause: error },
    );
  }
}

function keptOutdated(id: string, kept: string[]): AppError {
  return new AppError(
    "secrets_outdated",
    `The secrets of the service ${id} are outdated: it has another place to send them to than when they were set. Set or remove all of them in one patch; this one keeps ${kept.slice(0, 20).join(", ")}.`,
    { issues: kept.slice(0, 50).map((pointer) => ({ path: `secrets${pointer}`, message: "is outdated" })) },
  );
}

/** The adapter first, then the row. */
async function change(
  context: ServiceContext,
  row: Details,
  changed: Partial<Pick<ServiceParts, "config" | "secrets" | "origins">>,
  store: () => Promise<number>,
): Promise<number> {
  const adapter = context.adapters.get(row.adapter);
  if (!row.enabled || row.stale || adapter === null) return store();
  const parts = await requireParts(context, adapter, row.id);
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

async function requireParts(
  context: ServiceContext,
  adapter: AdapterModule | null,
  id: string,
): Promise<ServiceParts> {
  const parts = await readServiceParts(context, adapter, id);
  if (parts === null) throw serviceNotFound(id);
  return parts;
}

async function requireDetails(context: ServiceContext, id: string): Promise<Details> {
  const details = await findServiceDetails(context.pool, id);
  if (details === null) throw serviceNotFound(id);
  return details;
}

function isSame(left: Config, right: Config): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
