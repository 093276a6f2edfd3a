/**
 * Reads the configuration and secrets of modules and services, and changes them by JSON Patch under an entity tag. An
 * enabled owner accepts a change before it is stored. Secret values are write-only.
 */
import type { Db, Pool } from "#api/db/pool.ts";
import { AppError } from "#api/errors.ts";
import type { JSONSchema } from "#sdk";
import { type CarrySecrets, type Owner, ownerKey, type SecretStore, type SecretWatch } from "../ports.ts";
import { changedMeanwhile, requireMatch } from "./entity-tag.ts";
import type { ConfigAnswer, SecretsAnswer } from "./model.ts";
import { divide, listPointers, patchAnew, patchConfig, refuseReading } from "./patch.ts";
import type { PatchOperation } from "./patch-model.ts";
import { type Config, type Settings, type SettingsKind, subjectOf } from "./schema.ts";
import { readConfig, writeConfig } from "./store.ts";

export interface SettingsHost {
  find(id: string): Promise<SettingsTarget>;
  readSecrets(id: string): Promise<HeldSecrets>;
  /** Runs `work` while the owner has no other change in progress. Throws AppError, for example `not_found`. */
  change<T>(id: string, work: (target: ChangingTarget) => Promise<T>, carry: CarrySecrets): Promise<T>;
}

export interface SettingsTarget {
  schema(kind: SettingsKind): JSONSchema;
  /** Returns null if the schema is unknown. Throws AppError if the JSON Schema is invalid. */
  settings(kind: SettingsKind): Settings | null;
}

export interface ChangingTarget {
  settings(kind: SettingsKind): Settings;
  /** True if required settings may be missing because the owner is not in use. */
  mayLack(kind: SettingsKind): boolean;
  /** Asks an enabled owner to accept the change first; if that fails, nothing is stored and the owner is restored. */
  apply(changed: ChangedSettings, store: (db: Db) => Promise<number>): Promise<number>;
}

export type ChangedSettings = { config: Config } | { secrets: Config; origins?: readonly string[] };

export interface HeldSecrets {
  values: Config;
  version: number;
  /** Names of secrets that would now be sent to another destination than they were set for. */
  misplaced: readonly string[];
  isKnown: boolean;
  /**
   * Returns the destinations to store with new values. Owners without this method do not bind values. Throws AppError
   * while the destinations are unknown.
   */
  findOrigins?(isEmpty: boolean): Promise<readonly string[]>;
}

export type Versioned<T> = T & { version: number };

export interface ComponentSettings {
  readConfig(owner: Owner): Promise<Versioned<ConfigAnswer>>;
  /** Returns JSON pointers to the values that are set, never the values. */
  readSecrets(owner: Owner): Promise<Versioned<SecretsAnswer>>;
  readSchema(owner: Owner, kind: SettingsKind): Promise<JSONSchema>;
  /** Throws AppError, like `patchSecrets`, and then changes neither the rows nor the running owner. */
  patchConfig(
    owner: Owner,
    operations: PatchOperation[],
    ifMatch: string | undefined,
    carry: CarrySecrets,
  ): Promise<Versioned<ConfigAnswer>>;
  patchSecrets(owner: Owner, operations: PatchOperation[], ifMatch: string | undefined): Promise<number>;
}

export interface SettingsOptions {
  pool: Pool;
  secrets: SecretStore;
  watch: SecretWatch;
  hosts: Readonly<Record<Owner["kind"], SettingsHost>>;
}

export function createSettings({ pool, secrets, watch, hosts }: SettingsOptions): ComponentSettings {
  async function changeConfig(
    owner: Owner,
    target: ChangingTarget,
    operations: PatchOperation[],
    ifMatch: string | undefined,
  ): Promise<Versioned<ConfigAnswer>> {
    const subject = subjectOf(owner.kind, "config");
    const current = await readConfig(pool, owner);
    requireMatch(ifMatch, current.version, subject.noun);
    const config = patchConfig(current.config, operations, subject);
    requireFit(owner, target, "config", config);
    const outdated = target.settings("config").findOutdated(config);
    if (JSON.stringify(config) === JSON.stringify(current.config)) {
      return { config, outdated, version: current.version };
    }
    const version = await target.apply({ config }, async (db) => {
      const written = await writeConfig(db, owner, config, current.version);
      if (written !== null) return written;
      throw changedMeanwhile((await readConfig(pool, owner)).version, subject.noun);
    });
    return { config, outdated, version };
  }

  async function changeSecrets(
    owner: Owner,
    target: ChangingTarget,
    operations: PatchOperation[],
    ifMatch: string | undefined,
  ): Promise<number> {
    const subject = subjectOf(owner.kind, "secrets");
    const current = await hosts[owner.kind].readSecrets(owner.id);
    requireMatch(ifMatch, current.version, subject.noun);
    const values = patchAnew(current.values, current.misplaced, operations, subject, (kept) =>
      refuseKept(owner, kept),
    );
    requireFit(owner, target, "secrets", values);
    const origins = await current.findOrigins?.(Object.keys(values).length === 0);
    // The redactor must know new values before their first use, and old values until after their last.
    watch.setOwner(ownerKey(owner), { before: current.values, after: values });
    let kept = current.values;
    try {
      const changed = { secrets: values, ...(origins === undefined ? {} : { origins }) };
      // Store equal values too: an unchanged version would confirm a guessed secret.
      const version = await target.apply(changed, async (db) => {
        const written = await secrets.write(db, owner, values, current.version, origins);
        if (written !== null) return written;
        throw changedMeanwhile((await secrets.read(pool, owner)).version, subject.noun);
      });
      kept = values;
      return version;
    } finally {
      watch.setOwner(ownerKey(owner), kept);
    }
  }

  return {
    async readConfig(owner) {
      const target = await hosts[owner.kind].find(owner.id);
      const { config, version } = await readConfig(pool, owner);
      return { config, outdated: target.settings("config")?.findOutdated(config) ?? [], version };
    },
    async readSecrets({ kind, id }) {
      const target = await hosts[kind].find(id);
      const { values, misplaced, isKnown, version } = await hosts[kind].readSecrets(id);
      const present = listPointers(values);
      if (kind === "service") present.sort();
      // List all misplaced secrets: naming only the valid ones would reveal something about the values.
      const outdated =
        isKnown && misplaced.length > 0
          ? listPointers(divide(values, misplaced)[0]).sort()
          : (target.settings("secrets")?.findOutdated(values) ?? []);
      return { present, outdated, version };
    },
    readSchema: async ({ kind, id }, of) => (await hosts[kind].find(id)).schema(of),
    patchConfig: (owner, operations, ifMatch, carry) =>
      hosts[owner.kind].change(owner.id, (target) => changeConfig(owner, target, operations, ifMatch), carry),
    async patchSecrets(owner, operations, ifMatch) {
      refuseReading(operations);
      return hosts[owner.kind].change(
        owner.id,
        (target) => changeSecrets(owner, target, operations, ifMatch),
        null,
      );
    },
  };
}

function requireFit(
  { kind: owner }: Owner,
  target: ChangingTarget,
  kind: SettingsKind,
  values: Config,
): void {
  const settings = target.settings(kind);
  const issues = settings.findIssues(settings.applyDefaults(values), { incomplete: target.mayLack(kind) });
  const [first] = issues;
  if (first === undefined) return;
  const rest = issues.length > 1 ? ` (and ${issues.length - 1} more)` : "";
  throw new AppError(
    "invalid_request",
    `The ${subjectOf(owner, kind).noun} would not match the schema: ${first.path} ${first.message}${rest}.`,
    { issues },
  );
}

function refuseKept({ kind, id }: Owner, kept: string[]): AppError {
  return new AppError(
    "secrets_outdated",
    `The secrets of the ${kind} ${id} are outdated: it would send them to another place than when they were set. Set or remove all of them in one patch; this one keeps ${kept.slice(0, 20).join(", ")}.`,
    { issues: kept.slice(0, 50).map((pointer) => ({ path: `secrets${pointer}`, message: "is outdated" })) },
  );
}
