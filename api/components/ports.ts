/**
 * Narrow types through which modules, services and other features use each other, passed as arguments. Modules and
 * services do not import each other.
 */

import type { AdapterModule, ModuleLogger } from "#sdk";
import type { Download } from "../egress/download.ts";
import type { Redactor } from "../secrets/redactor.ts";
import type { Vault } from "../secrets/vault.ts";

export type SecretStore = Pick<Vault, "read" | "write" | "bind" | "remove">;

/** Removes secret values from everything that leaves the server. `ownerKey` names their owner. */
export type SecretWatch = Pick<Redactor, "setOwner" | "dropOwner" | "text" | "cut">;

export interface Owner {
  kind: "module" | "service";
  id: string;
}

export function ownerKey({ kind, id }: Owner): string {
  return `${kind}:${id}`;
}

/** Decides which services exist for a caller. Every route asks it. */
export interface ServiceSight {
  /** Returns the visible ones of `ids`, which may include ids without a service. */
  visible(ids: readonly string[]): Promise<ReadonlySet<string>>;
  wouldShow(id: string, toolIds: readonly string[]): boolean;
}

/**
 * Records that a change of a service keeps its secrets usable. Null for callers without `modules:admin`: their
 * changes leave secrets bound to the original destinations.
 */
export type CarrySecrets = ((serviceId: string, secrets: readonly string[]) => void) | null;

export type { Download };

export type Logger = ModuleLogger;

export interface Adapters {
  get(id: string): AdapterModule | null;
  attach(services: AdapterServices): void;
}

/** No method rejects because of one service: its row gets the reason. */
export interface AdapterServices {
  prepareAdapter(id: string, next: AdapterModule): Promise<void>;
  /** Hands over services again that changed since `prepareAdapter`. */
  onAdapterActive(id: string): Promise<void>;
  /** Call after replacing or removing the adapter and before its teardown. */
  onAdapterGone(id: string, gone: AdapterModule): Promise<void>;
  /**
   * Regenerates every service of the adapter, with the active instance or the given one. Services that fail become
   * stale. Returns the ids of stale services.
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
