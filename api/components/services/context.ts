import type { KeyedQueue, Queue } from "#api/bounds/queue.ts";
import type { Pool } from "#api/db/pool.ts";
import { AppError } from "#api/errors.ts";
import type { AdapterModule } from "#sdk";
import type { Adapters, Download, Logger, SecretStore, SecretWatch } from "../ports.ts";
import { HydrateFailure, type Hydration } from "./lifecycle/hydration.ts";
import { findServiceRow, type ServiceRow } from "./store.ts";

export interface ServiceContext {
  pool: Pool;
  logger: Logger;
  adapters: Adapters;
  secrets: SecretStore;
  watch: SecretWatch;
  download: Download;
  hydration: Hydration;
  changes: KeyedQueue;
  /** Limits how many tool generations run at once: definitions are large, and generating takes CPU time. */
  generations: Queue;
  announce(serviceId: string): void;
}

export function inTurn<T>(
  { changes, pool }: ServiceContext,
  id: string,
  work: (row: ServiceRow) => Promise<T>,
): Promise<T> {
  return changes.run(id, async () => {
    const row = await findServiceRow(pool, id);
    if (row === null) throw serviceNotFound(id);
    return work(row);
  });
}

export function serviceNotFound(id: string): AppError {
  return new AppError("not_found", `There is no service ${id}. GET /services lists them.`);
}

export function requireAdapter(context: ServiceContext, adapterId: string): AdapterModule {
  const adapter = context.adapters.get(adapterId);
  if (adapter !== null) return adapter;
  throw new AppError(
    "adapter_inactive",
    `The adapter ${adapterId} is not active. See GET /modules?type=adapter, and enable it with POST /modules/${adapterId}/enabled.`,
  );
}

export function toServiceFailed(id: string, error: unknown): unknown {
  if (!(error instanceof HydrateFailure)) return error;
  return new AppError(
    "service_failed",
    `The adapter could not take on the service ${id}, nothing was changed: ${error.message}`,
    { cause: error },
  );
}

export function refuseWaitingChanges(id: string): AppError {
  return new AppError(
    "rate_limited",
    `Too many changes of the service ${id} are waiting already. Try again shortly.`,
    { retryAfterSeconds: 5 },
  );
}

export function refuseWaitingDefinitions(): AppError {
  return new AppError("rate_limited", "Too many definitions are being read already. Try again shortly.", {
    retryAfterSeconds: 10,
  });
}
