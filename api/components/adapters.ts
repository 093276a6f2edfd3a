/**
 * What modules and services know of each other: services ask for active adapters; modules tell the services what
 * happens to their adapter. Neither imports the other.
 */
import type { AdapterModule } from "#sdk";

export interface Adapters {
  /** The active adapter of this id; null while it is not enabled, not there, failed to start, or no adapter. */
  get(id: string): AdapterModule | null;
  /** Once, before modules start. Without services nothing follows an adapter. */
  attach(services: AdapterServices): void;
}

/** How services follow their adapter. None of these rejects because of one service: its row gets the reason. */
export interface AdapterServices {
  /** Hands every enabled service to an instance that is about to be put in place. */
  prepareAdapter(id: string, next: AdapterModule): Promise<void>;
  /** The instance is in place: whatever changed since it was prepared is handed over again. */
  onAdapterActive(id: string): Promise<void>;
  /** The adapter is no longer in place; the instance is about to be torn down. */
  onAdapterGone(id: string, gone: AdapterModule): Promise<void>;
  /**
   * Makes the definition of every service of the adapter anew, with the instance in place or the one given. Services
   * that fail become stale, the rest go on. Resolves to the ids that are stale.
   */
  regenerateAll(id: string, adapter?: AdapterModule): Promise<{ stale: string[] }>;
  /** Deletes every service of the adapter with its settings and secrets. */
  removeAll(id: string): Promise<void>;
}

/** Services that do not exist: what an activator works with until some are attached. */
export const NO_SERVICES: AdapterServices = {
  prepareAdapter: async () => {},
  onAdapterActive: async () => {},
  onAdapterGone: async () => {},
  regenerateAll: async () => ({ stale: [] }),
  removeAll: async () => {},
};
