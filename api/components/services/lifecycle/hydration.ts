/**
 * Which adapter holds which service right now: hands services over and takes them back, bounded in time, and remembers
 * what came of it. Reads and writes no rows.
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

/** The adapter could not take the service on; the message is the adapter's, without secrets. */
export class HydrateFailure extends Error {
  override readonly name = "HydrateFailure";
}

export interface Hydration {
  /** Whether this instance was handed the service last, and took it. */
  holds(adapter: AdapterModule, id: string): boolean;
  /** Whether this instance was handed the service last, whatever came of it. */
  wasHanded(adapter: AdapterModule, id: string): boolean;
  /** What its adapter holds; null when none does. */
  stateOf(id: string): ServiceState | null;
  /** Why the adapter that was handed the service last did not take it; null when it did, or none was asked. */
  failureOf(id: string): string | null;
  /** The service could not even be handed to this instance. */
  noteFailure(adapter: AdapterModule, id: string, reason: string): void;
  /** Throws HydrateFailure; the adapter then does not hold the service. */
  hydrate(adapter: AdapterModule, state: ServiceState): Promise<void>;
  /** Takes the service back from whoever may hold it. Never throws. */
  dehydrate(id: string, current: AdapterModule | null): Promise<void>;
  /** The instance is gone, with everything that it held. */
  forget(adapter: AdapterModule): void;
}

export function createHydration(options: {
  logger: Logger;
  watch: SecretWatch;
  limits: HydrationLimits;
}): Hydration {
  const { logger, watch, limits } = options;
  /** Per service, who was handed it last; without a state it was not taken, for the reason. */
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
        { serviceId: id, reason: watch.text(readFailure(error)) },
        "an adapter did not let go of a service",
      );
    }
  }

  /** What came of a hand-over that nobody waited for any more: the adapter must not keep it over what came after. */
  async function undoLate(adapter: AdapterModule, id: string): Promise<void> {
    const latest = handed.get(id);
    if (latest?.adapter !== adapter || latest.state === null) return takeBack(adapter, id);
    await adapter.hydrateService(latest.state).catch((error: unknown) => {
      logger.error(
        { serviceId: id, reason: watch.text(readFailure(error)) },
        "a service may have outdated settings",
      );
    });
  }

  function noteFailure(adapter: AdapterModule, id: string, reason: string): void {
    handed.set(id, { adapter, state: null, reason });
  }

  return {
    noteFailure,
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
      // First: what the adapter says from here on may hold a secret.
      watch.setOwner(ownerKey({ kind: "service", id }), state.secrets);
      const done = Promise.resolve().then(() => adapter.hydrateService(state));
      try {
        await waitAtMost(done, limits.maxHydrateMs, `hydrateService("${id}")`);
        handed.set(id, { adapter, state });
      } catch (error) {
        const reason = watch.text(readFailure(error));
        noteFailure(adapter, id, reason);
        if (isDeadline(error)) void done.then(() => undoLate(adapter, id)).catch(() => {});
        else await takeBack(adapter, id);
        const stack = readStack(error);
        logger.warn(
          { serviceId: id, stack: stack === null ? null : watch.text(stack) },
          "an adapter did not take a service",
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

/** Asking a foreign error what it is runs its code, if it is a proxy. */
function isDeadline(thrown: unknown): boolean {
  try {
    return thrown instanceof DeadlineExceeded;
  } catch {
    return false;
  }
}

/** Without its cause: that may hold a secret, and is written to the log with it. */
function readStack(thrown: unknown): string | null {
  try {
    return thrown instanceof Error ? String(thrown.stack).slice(0, MAX_STACK_CHARACTERS) : null;
  } catch {
    return null;
  }
}
