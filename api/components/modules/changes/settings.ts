/**
 * Configuration and secrets of a module: read with what is outdated, changed by JSON Patch. An enabled module is started
 * anew with the change before it is kept. Values of secrets never leave.
 */

import { changedMeanwhile, requireMatch } from "#api/components/settings/entity-tag.ts";
import { patchConfig } from "#api/components/settings/patch.ts";
import type { PatchOperation } from "#api/components/settings/patch-model.ts";
import { type Config, NO_SETTINGS } from "#api/components/settings/schema.ts";
import { listPointers, refuseTests } from "#api/components/settings/write-only.ts";
import { AppError } from "#api/errors.ts";
import type { JSONSchema } from "#sdk";
import { readSettingsSchema, type SettingsKind, subjectOf } from "../activation/settings.ts";
import {
  commitStarted,
  type ModuleHost,
  readStoredSettings,
  requireRegistration,
  requireRow,
  startRequested,
  toModuleFailed,
} from "../host.ts";
import type { ModuleRegistration } from "../registration.ts";
import { readSettings, setModuleError, writeSettings } from "../store.ts";

interface Stored {
  values: Config;
  version: number;
}

export interface SettingsReading extends Stored {
  /** JSON pointers. */
  outdated: string[];
}

async function readStored(host: ModuleHost, id: string, kind: SettingsKind): Promise<Stored> {
  if (kind === "secrets") return host.secrets.read(host.pool, { kind: "module", id });
  const { config, version } = await readSettings(host.pool, id);
  return { values: config, version };
}

function writeStored(
  host: ModuleHost,
  id: string,
  kind: SettingsKind,
  values: Config,
  expectedVersion: number,
): Promise<number | null> {
  if (kind === "config") return writeSettings(host.pool, id, values, expectedVersion);
  return host.secrets.write(host.pool, { kind: "module", id }, values, expectedVersion);
}

export async function readModuleSettings(
  host: ModuleHost,
  id: string,
  kind: SettingsKind,
): Promise<SettingsReading> {
  await requireRow(host, id);
  const stored = await readStored(host, id, kind);
  const registration = host.registry.get(id);
  if (registration === undefined || !registration.isDescribed) return { ...stored, outdated: [] };
  return { ...stored, outdated: compiled(host, registration, kind).findOutdated(stored.values) };
}

/** Where there are values; the values stay here. */
export async function readPresentSecrets(
  host: ModuleHost,
  id: string,
): Promise<{ present: string[]; outdated: string[]; version: number }> {
  const { values, outdated, version } = await readModuleSettings(host, id, "secrets");
  return { present: listPointers(values), outdated, version };
}

export async function readModuleSettingsSchema(
  host: ModuleHost,
  id: string,
  kind: SettingsKind,
): Promise<JSONSchema> {
  await requireRow(host, id);
  return requireRegistration(host, id).manifest[`${kind}Schema`] ?? NO_SETTINGS;
}

/** Within the queue of changes. Answers what is stored afterwards; a failure leaves everything as it was. */
export async function changeModuleSettings(
  host: ModuleHost,
  id: string,
  kind: SettingsKind,
  operations: PatchOperation[],
  ifMatch: string | undefined,
): Promise<SettingsReading> {
  const row = await requireRow(host, id);
  const registration = requireRegistration(host, id);
  const current = await readStored(host, id, kind);
  const subject = subjectOf(kind);
  requireMatch(ifMatch, current.version, subject.noun);
  if (kind === "secrets") refuseTests(operations);
  const values = patchConfig(current.values, operations, subject);
  // Secrets of a module that is not enabled may come one by one.
  requireFit(host, registration, kind, values, kind === "secrets" && !row.enabled);
  if (JSON.stringify(values) === JSON.stringify(current.values)) {
    return { values, outdated: [], version: current.version };
  }
  const store = async () => {
    const version = await writeStored(host, id, kind, values, current.version);
    if (version !== null) return version;
    throw changedMeanwhile((await readStored(host, id, kind)).version, subject.noun);
  };
  const restart = async () => {
    const settings = { ...(await readStoredSettings(host, id)), [kind]: values };
    const started = await startRequested(host, registration, settings);
    const version = await commitStarted(host, started, store);
    await setModuleError(host.pool, id, null);
    return version;
  };
  const change = row.enabled ? restart : store;
  if (kind === "config") return { values, outdated: [], version: await change() };
  // Known before the module sees them; of the ones before only when they are no longer in use.
  host.watch.setOwner(`module:${id}`, { before: current.values, after: values });
  let kept = current.values;
  try {
    const version = await change();
    kept = values;
    return { values, outdated: [], version };
  } finally {
    host.watch.setOwner(`module:${id}`, kept);
  }
}

function compiled(host: ModuleHost, registration: ModuleRegistration, kind: SettingsKind) {
  try {
    return readSettingsSchema(registration, kind);
  } catch (error) {
    throw toModuleFailed(host, registration.manifest.id, error);
  }
}

function requireFit(
  host: ModuleHost,
  registration: ModuleRegistration,
  kind: SettingsKind,
  values: Config,
  incomplete: boolean,
): void {
  const settings = compiled(host, registration, kind);
  const issues = settings.findIssues(settings.applyDefaults(values), { incomplete });
  const [first] = issues;
  if (first === undefined) return;
  const rest = issues.length > 1 ? ` (and ${issues.length - 1} more)` : "";
  const what = kind === "config" ? "The configuration would not fit its" : "The secrets would not fit their";
  throw new AppError("invalid_request", `${what} schema: ${first.path} ${first.message}${rest}.`, { issues });
}
