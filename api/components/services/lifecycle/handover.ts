/**
 * A change of a service that its adapter holds: the adapter first, then the rows. Whatever fails, both are as before.
 */
import { readFailure } from "#api/bounds/failure-text.ts";
import { type ServiceContext, toServiceFailed } from "../context.ts";
import type { ServiceRow } from "../store.ts";
import { readServiceParts, type ServiceParts, toServiceState } from "./state.ts";

export interface Handover {
  /** The service as it will be. */
  next: ServiceParts;
  /** Whether the tools change: the old ones are taken back first. Otherwise settings do, and the adapter replaces them. */
  newDefinition: boolean;
}

/**
 * Hands the new state of an enabled service to its adapter, then stores it. Throws AppError `service_failed` or
 * `secrets_outdated`, or what `store` throws; the adapter then has the stored state again.
 */
export async function handOver<T>(
  context: ServiceContext,
  row: ServiceRow,
  handover: Handover,
  store: () => Promise<T>,
): Promise<T> {
  const { hydration, adapters } = context;
  const adapter = adapters.get(row.adapter);
  if (!row.enabled || adapter === null || (row.stale && !handover.newDefinition)) return store();
  // Before anything is touched: secrets that are not meant for it stop the change.
  const state = await toServiceState(context, adapter, handover.next);
  try {
    if (handover.newDefinition) await hydration.dehydrate(row.id, adapter);
    await hydration.hydrate(adapter, state);
    return await store();
  } catch (error) {
    await handBack(context, row);
    throw toServiceFailed(row.id, error);
  }
}

/** Gives the adapter in place what is stored. Never throws: what cannot be restored is logged and kept as the row's error. */
async function handBack(context: ServiceContext, row: ServiceRow): Promise<void> {
  const { hydration, adapters, logger } = context;
  try {
    const adapter = adapters.get(row.adapter);
    if (adapter === null || row.stale) return await hydration.dehydrate(row.id, adapter);
    const parts = await readServiceParts(context, adapter, row.id);
    if (parts === null) return;
    await hydration.hydrate(adapter, await toServiceState(context, adapter, parts));
  } catch (error) {
    logger.error(
      { serviceId: row.id, reason: readFailure(error) },
      "a service could not be given back its former state; its tools fail until it is enabled again",
    );
  }
}
