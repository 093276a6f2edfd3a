/**
 * What modules and services need of each other and of other features, as narrow types that come in as arguments: services
 * ask for active adapters; modules tell services when their adapter changes. Neither imports the other.
 */

import type { AdapterModule, ModuleLogger } from "#sdk";
import type { Download } from "../egress/download.ts";
import type { Redactor } from "../secrets/redactor.ts";
import type { Vault } from "../secrets/vault.ts";

/** Secrets at rest. Without a row: no values, version 0. */
export type SecretStore = Pick<Vault, "read" | "write" | "bind" | "remove">;

/** Learns secret values, to remove them from everything that leaves the server. Owners are named by `ownerKey`. */
export type SecretWatch = Pick<Redactor, "setOwner" | "dropOwner" | "text" | "cut">;

/** The module or service that settings belong to. */
export interface Owner {
  kind: "module" | "service";
  id: string;
}

/** How the redactor knows an owner. */
export function ownerKey({ kind, id }: Owner): string {
  return `${kind}:${id}`;
}

/** Which services exist for one caller: every route asks it. */
export interface ServiceSight {
  /** Those of `ids` that do; an id without a service may be among them. */
  visible(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Whether a service with these tools would. */
  wouldShow(id: string, toolIds: readonly string[]): boolean;
}

/**
 * Records that secrets of a service go along with a change of it. Null for a caller without `modules:admin`: for that one
 * they stay bound to what they were set for.
 */
export type CarrySecrets = ((serviceId: string, secrets: readonly string[]) => void) | null;

/** Fetches over http(s) within the egress rules. Throws AppError. */
export type { Download };

export type Logger = ModuleLogger;

export interface Adapters {
  /** Null while no adapter of this id is active. */
  get(id: string): AdapterModule | null;
  /** Called once, before modules start. */
  attach(services: AdapterServices): void;
}

/** How services follow their adapter. None of these rejects because of one service: its row gets the reason. */
export interface AdapterServices {
  /** Hands every enabled service to an instance that is about to be put in place. */
  prepareAdapter(id: string, next: AdapterModule): Promise<void>;
  /** The instance is in place: services that changed since it was prepared are handed over again. */
  onAdapterActive(id: string): Promise<void>;
  /** The adapter is no longer in place; the instance is about to be torn down. */
  onAdapterGone(id: string, gone: AdapterModule): Promise<void>;
  /**
   * Regenerates every service of the adapter, with the active instance or the one given. Services that fail become stale,
   * the rest go on. Resolves to the ids that are stale.
   */
  regenerateAll(id: string, adapter?: AdapterModule): Promise<{ stale: string[] }>;
  /** Deletes every service of the adapter with its settings and secrets. */
  removeAll(id: string): Promise<void>;
}

/** For an activator that no services are attached to yet. */
export const NO_SERVICES: AdapterServices = {
  prepareAdapter: async () => {},
  onAdapterActive: async () => {},
  onAdapterGone: async () => {},
  regenerateAll: async () => ({ stale: [] }),
  removeAll: async () => {},
};
