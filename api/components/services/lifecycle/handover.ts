/**
 * Changes a service once its adapter has accepted the new state: the adapter first, then the rows. On failure both
 * are restored. Also applies changes made on another server.
 */

import { isDeepStrictEqual } from "node:util";
import { readFailure } from "#api/bounds/failure-text.ts";
import { ownerKey } from "../../ports.ts";
import { type ServiceContext, toServiceFailed } from "../context.ts";
import { findServiceRow, type ServiceRow } from "../store.ts";
import { readServiceParts, type ServiceParts, toServiceState } from "./state.ts";

export interface Handover {
  next: ServiceParts;
  /**
   * True if the tools change, so that the adapter must release the old ones first. If only settings change, the
   * adapter replaces them.
   */
  newDefinition: boolean;
}

/**
 * Hands an enabled service's new state to its adapter, then stores it. Throws AppError `service_failed` or
 * `secrets_outdated`, or errors from `store`; the adapter then has the stored state again.
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
  // Check first: the change must fail if secrets were set for another destination.
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

export async function handBack(context: ServiceContext, row: ServiceRow): Promise<void> {
  const { hydration, adapters, logger } = context;
  try {
    const adapter = adapters.get(row.adapter);
    if (adapter === null || row.stale) return await hydration.dehydrate(row.id, adapter);
    const parts = await readServiceParts(context, adapter, row.id);
    if (parts === null) return;
    await hydration.hydrate(adapter, await toServiceState(context, adapter, parts));
  } catch (error) {
    logger.error(
      { serviceId: row.id, reason: readFailure(error, context.watch.cut) },
      "a service could not be restored to its former state; its tools fail until it is enabled again",
    );
  }
}

export async function followService(context: ServiceContext, id: string): Promise<void> {
  await context.changes.run(id, () => follow(context, id), { always: true });
  context.announce(id);
}

async function follow(context: ServiceContext, id: string): Promise<void> {
  const { pool, hydration, adapters, logger, watch } = context;
  const row = await findServiceRow(pool, id);
  if (row === null || !row.enabled || row.stale) {
    if (hydration.stateOf(id) !== null) {
      context.announce(id);
      await hydration.dehydrate(id, row === null ? null : adapters.get(row.adapter));
    }
    if (row === null) watch.dropOwner(ownerKey({ kind: "service", id }));
    return;
  }
  const adapter = adapters.get(row.adapter);
  const parts = adapter === null ? null : await readServiceParts(context, adapter, id);
  if (adapter === null || parts === null) return;
  try {
    const state = await toServiceState(context, adapter, parts);
    if (hydration.holds(adapter, id) && isDeepStrictEqual(hydration.stateOf(id), state)) return;
    await hydration.hydrate(adapter, state);
  } catch (error) {
    logger.error(
      { serviceId: id, adapter: row.adapter, reason: readFailure(error, context.watch.cut) },
      "a service could not follow a change made on another server; its tools fail here until it is enabled again",
    );
  }
}
