/**
 * What modules and services know of each other: services ask for active adapters; modules tell services when their
 * adapter changes. Neither imports the other.
 */
import type { AdapterModule } from "#sdk";

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
