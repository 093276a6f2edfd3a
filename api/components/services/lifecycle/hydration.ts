/**
 * Tracks which adapter has which service; hands services over and takes them back within a time limit. Reads and
 * writes no rows.
 */
import { DeadlineExceeded, waitAtMost } from "#api/bounds/deadline.ts";
import { readFailure } from "#api/bounds/failure-text.ts";
import type { AdapterModule, ServiceState } from "#sdk";
import { type Logger, ownerKey, type SecretWatch } from "../../ports.ts";

export interface HydrationLimits {
  maxHydrateMs: number;
  maxDehydrateMs: number;
}

const MAX_STACK_CHARACTERS = 4000;

export class HydrateFailure extends Error {
  override readonly name = "HydrateFailure";
}

export interface Hydration {
  /** True if this instance was the last to receive the service and accepted it. */
  holds(adapter: AdapterModule, id: string): boolean;
  /** True if this instance was the last to receive the service, successfully or not. */
  wasHanded(adapter: AdapterModule, id: string): boolean;
  stateOf(id: string): ServiceState | null;
  failureOf(id: string): string | null;
  recordFailure(adapter: AdapterModule, id: string, reason: string): void;
  /**
   * Hands a service to the adapter. Throws HydrateFailure if that fails; the adapter then does not have the service.
   */
  hydrate(adapter: AdapterModule, state: ServiceState): Promise<void>;
  /** Takes the service back from every adapter that may have it. Never throws. */
  dehydrate(id: string, current: AdapterModule | null): Promise<void>;
  forget(adapter: AdapterModule): void;
}

export function createHydration(options: {
  logger: Logger;
  watch: SecretWatch;
  limits: HydrationLimits;
}): Hydration {
  const { logger, watch, limits } = options;
  /** Last handover of each service. If it failed, `state` is null. */
  const handed = new Map<
    string,
    { adapter: AdapterModule; state: ServiceState } | { adapter: AdapterModule; state: null; reason: string }
  >();

  async function takeBack(adapter: AdapterModule, id: string): Promise<void> {
    try {
      const done = Promise.resolve().then(() => adapter.dehydrateService(id));
      await waitAtMost(done, limits.maxDehydrateMs, `dehydrateService("${id}")`);
    } catch (error) {
      logger.error(
        { serviceId: id, reason: readFailure(error, watch.cut) },
        "an adapter did not give up a service",
      );
    }
  }

  /** Undoes a handover that finished after its time limit, so that it does not replace a later one. */
  async function undoLate(adapter: AdapterModule, id: string): Promise<void> {
    const latest = handed.get(id);
    if (latest?.adapter !== adapter || latest.state === null) return takeBack(adapter, id);
    await adapter.hydrateService(latest.state).catch((error: unknown) => {
      logger.error(
        { serviceId: id, reason: readFailure(error, watch.cut) },
        "a service may have outdated settings",
      );
    });
  }

  function recordFailure(adapter: AdapterModule, id: string, reason: string): void {
    handed.set(id, { adapter, state: null, reason });
  }

  return {
    recordFailure,
    failureOf(id) {
      const entry = handed.get(id);
      return entry?.state === null ? entry.reason : null;
    },
    holds(adapter, id) {
      const entry = handed.get(id);
      return entry?.adapter === adapter && entry.state !== null;
    },
    stateOf: (id) => handed.get(id)?.state ?? null,
    wasHanded: (adapter, id) => handed.get(id)?.adapter === adapter,
    async hydrate(adapter, state) {
      const { id } = state;
      // Register the secrets first: from now on, the adapter's messages may contain one.
      watch.setOwner(ownerKey({ kind: "service", id }), state.secrets);
      const done = Promise.resolve().then(() => adapter.hydrateService(state));
      try {
        await waitAtMost(done, limits.maxHydrateMs, `hydrateService("${id}")`);
        handed.set(id, { adapter, state });
      } catch (error) {
        const reason = readFailure(error, watch.cut);
        recordFailure(adapter, id, reason);
        if (isDeadline(error)) void done.then(() => undoLate(adapter, id)).catch(() => {});
        else await takeBack(adapter, id);
        const stack = readStack(error);
        logger.warn(
          { serviceId: id, stack: stack === null ? null : watch.cut(stack, MAX_STACK_CHARACTERS) },
          "an adapter did not accept a service",
        );
        throw new HydrateFailure(reason);
      }
    },
    async dehydrate(id, current) {
      const holders = new Set([handed.get(id)?.adapter, current]);
      handed.delete(id);
      for (const adapter of holders) if (adapter) await takeBack(adapter, id);
    },
    forget(adapter) {
      for (const [id, entry] of handed) if (entry.adapter === adapter) handed.delete(id);
    },
  };
}

/** Returns true for DeadlineExceeded. `instanceof` on a foreign error may run code if the error is a proxy. */
function isDeadline(thrown: unknown): boolean {
  try {
    return thrown instanceof DeadlineExceeded;
  } catch {
    return false;
  }
}

/** Returns the stack without the cause, which may contain a secret. */
function readStack(thrown: unknown): string | null {
  try {
    return thrown instanceof Error ? String(thrown.stack) : null;
  } catch {
    return null;
  }
}
