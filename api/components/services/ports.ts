/** What services need of other features, as narrow types: they come in as arguments. */
import type { Db } from "#api/db/pool.ts";
import type { ModuleLogger } from "#sdk";

export interface SecretOwner {
  kind: "service";
  id: string;
}

/** Secrets at rest. Without a row: no values, version 0. */
export interface SecretStore {
  read(
    db: Db,
    owner: SecretOwner,
  ): Promise<{
    values: Record<string, unknown>;
    /** Where they may go, as of when they were set; null: stored by a version that did not keep it. */
    origins: readonly string[] | null;
    version: number;
  }>;
  /** Writes only over `expectedVersion`: the new version, or null when somebody else was first. */
  write(
    db: Db,
    owner: SecretOwner,
    values: Record<string, unknown>,
    expectedVersion: number,
    origins: readonly string[],
  ): Promise<number | null>;
  /** The same values with other origins. False when they are no longer of that version. */
  bind(db: Db, owner: SecretOwner, origins: readonly string[], expectedVersion: number): Promise<boolean>;
  remove(db: Db, owner: SecretOwner): Promise<void>;
}

/** Learns secret values, to take them out of whatever leaves the server. Owner keys are `service:<id>`. */
export interface SecretWatch {
  setOwner(ownerKey: string, values: Record<string, unknown>): void;
  dropOwner(ownerKey: string): void;
  /** The text with every known value replaced. */
  text(text: string): string;
}

/** What of services exists for one caller: every route asks it. */
export interface ServiceSight {
  /** Those of `ids` that do; an id without a service may be among them. */
  visible(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Whether a service with these tools would. */
  wouldShow(id: string, toolIds: readonly string[]): boolean;
}

export interface Download {
  bytes: Buffer;
  /** After redirects. */
  finalUrl: string;
}
/** Fetches over http(s) within the egress rules. Throws AppError. */
export type Downloader = (url: string, options: { maxBytes: number; accept?: string }) => Promise<Download>;

export type Logger = ModuleLogger;
