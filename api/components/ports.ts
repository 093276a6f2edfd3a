/**
 * Narrow types through which modules, services and other features use each other. Instances are passed as arguments,
 * because modules and services must not import each other.
 */

import type { AdapterModule, ModuleLogger } from "#sdk";
import type { Download } from "../egress/download.ts";
import type { Redactor } from "../secrets/redactor.ts";
import type { Vault } from "../secrets/vault.ts";

export type SecretStore = Pick<Vault, "read" | "write" | "bind" | "remove">;

/** Removes secret values from everything that leaves the server. `ownerKey` identifies the secrets' owner. */
export type SecretWatch = Pick<Redactor, "setOwner" | "dropOwner" | "text" | "cut">;

export interface Owner {
  kind: "module" | "service";
  id: string;
}

export function ownerKey({ kind, id }: Owner): string {
  return `${kind}:${id}`;
}

/** Decides which services a caller can see. Every route uses it. */
export interface ServiceSight {
  /** Returns the visible services among `ids`, which may include ids of no service. */
  visible(ids: readonly string[]): Promise<ReadonlySet<string>>;
  wouldShow(id: string, toolIds: readonly string[]): boolean;
}

/**
 * Records that a change keeps a service's secrets usable. Null for callers without `modules:admin`, whose changes
 * leave secrets bound to their original destinations.
 */
export type CarrySecrets = ((serviceId: string, secrets: readonly string[]) => void) | null;

export type { Download };

export type Logger = ModuleLogger;

export interface Adapters {
  get(id: string): AdapterModule | null;
  attach(services: AdapterServices): void;
}

/** No method rejects because one service fails: that service's row gets the reason. */
export interface AdapterServices {
  prepareAdapter(id: string, next: AdapterModule): Promise<void>;
  /** Hands services to the adapter again if they changed since `prepareAdapter`. */
  onAdapterActive(id: string): Promise<void>;
  /** Takes services away from an adapter. Call after replacing or removing it and before its teardown. */
  onAdapterGone(id: string, gone: AdapterModule): Promise<void>;
  /**
   * Regenerates the adapter's services with the active instance or the given one. Services that fail become stale.
   * Returns the ids of stale services.
   */
  regenerateAll(id: string, adapter?: AdapterModule): Promise<{ stale: string[] }>;
  removeAll(id: string): Promise<void>;
}

export const NO_SERVICES: AdapterServices = {
  prepareAdapter: async () => {},
  onAdapterActive: async () => {},
  onAdapterGone: async () => {},
  regenerateAll: async () => ({ stale: [] }),
  removeAll: async () => {},
};
