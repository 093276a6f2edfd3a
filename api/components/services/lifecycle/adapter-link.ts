/**
 * Updates services when their adapter changes. A service that fails never stops the others: its row gets the reason.
 */
import pLimit from "p-limit";
import { readFailure } from "#api/bounds/failure-text.ts";
import type { AdapterServices } from "#api/components/ports.ts";
import type { AdapterModule, ServiceState } from "#sdk";
import type { ServiceContext } from "../context.ts";
import { regenerate } from "../installation.ts";
import { findServiceRow, listServiceIds, markStale, type ServiceRow, setServiceError } from "../store.ts";
import { removeServiceIfThere } from "../switching.ts";
import { readServiceParts, toServiceState } from "./state.ts";

/** Maximum number of concurrent reads; each uses a database connection. */
const MAX_READS = 6;

export function linkAdapters(context: ServiceContext): AdapterServices {
  const { pool, logger, hydration, adapters, changes } = context;
  const reads = pLimit(MAX_READS);

  async function bring(id: string, adapter: AdapterModule): Promise<void> {
    const row = await findServiceRow(pool, id);
    if (row === null || !row.enabled || row.stale) return;
    let reason: string | null = null;
    try {
      const state = await readState(id, adapter);
      if (state !== null) await hydration.hydrate(adapter, state);
    } catch (error) {
      reason = readFailure(error, context.watch.cut);
      hydration.recordFailure(adapter, id, reason);
      logger.error(
        { serviceId: id, adapter: row.adapter, reason },
        "a service could not be handed to its adapter; the others continue",
      );
    }
    await setServiceError(pool, id, reason);
  }

  function readState(id: string, adapter: AdapterModule): Promise<ServiceState | null> {
    return reads(async () => {
      const parts = await readServiceParts(context, adapter, id);
      return parts === null ? null : toServiceState(context, adapter, parts);
    });
  }

  async function regenerateOne(row: ServiceRow, adapter: AdapterModule): Promise<boolean> {
    try {
      await regenerate(context, row, adapter);
      return true;
    } catch (error) {
      const reason = readFailure(error, context.watch.cut);
      logger.error({ serviceId: row.id, adapter: row.adapter, reason }, "a service is stale");
      await markStale(pool, row.id, reason);
      await hydration.dehydrate(row.id, adapters.get(row.adapter));
      context.announce(row.id);
      return false;
    }
  }

  async function forEachEnabled(adapterId: string, work: (id: string) => Promise<void>): Promise<void> {
    const ids = await listServiceIds(pool, adapterId, { enabled: true });
    const turns = ids.map((id) => changes.run(id, () => work(id), { always: true }));
    for (const [index, turn] of (await Promise.allSettled(turns)).entries()) {
      if (turn.status === "fulfilled") continue;
      const reason = readFailure(turn.reason, context.watch.cut);
      logger.error(
        { serviceId: ids[index], adapter: adapterId, reason },
        "a service cannot follow its adapter",
      );
    }
  }

  return {
    prepareAdapter: (id, next) => forEachEnabled(id, (serviceId) => bring(serviceId, next)),
    async onAdapterActive(id) {
      const adapter = adapters.get(id);
      if (adapter === null) return;
      await forEachEnabled(id, async (serviceId) => {
        if (!hydration.wasHanded(adapter, serviceId)) await bring(serviceId, adapter);
      });
      await announceAll(id);
    },
    async onAdapterGone(id, gone) {
      hydration.forget(gone);
      await announceAll(id);
    },
    async regenerateAll(id, given) {
      const stale: string[] = [];
      const adapter = given ?? adapters.get(id);
      if (adapter === null) return { stale };
      // Process services one at a time, because a definition and its tools may be large.
      for (const serviceId of await listServiceIds(pool, id)) {
        const work = async () => {
          const row = await findServiceRow(pool, serviceId);
          if (row !== null && !(await regenerateOne(row, adapter))) stale.push(serviceId);
        };
        await changes.run(serviceId, work, { always: true });
      }
      return { stale };
    },
    async removeAll(id) {
      for (const serviceId of await listServiceIds(pool, id)) await removeServiceIfThere(context, serviceId);
    },
  };

  async function announceAll(adapterId: string): Promise<void> {
    for (const id of await listServiceIds(pool, adapterId)) context.announce(id);
  }
}
