/** Brings what an adapter of this server holds in line with the rows, after another server has changed a service. */
import { isDeepStrictEqual } from "node:util";
import { readFailure } from "#api/bounds/failure-text.ts";
import { ownerKey } from "../../ports.ts";
import type { ServiceContext } from "../context.ts";
import { findServiceRow } from "../store.ts";
import { readServiceParts, toServiceState } from "./state.ts";

/** In the turn of the service. What is as stored is left alone, so it does not matter how often it is called. */
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
      { serviceId: id, adapter: row.adapter, reason: readFailure(error) },
      "a service could not follow a change made on another server; its tools fail here until it is enabled again",
    );
  }
}
