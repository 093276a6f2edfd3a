/**
 * Tracks the active environment and the draining ones, which are torn down when their last lease is returned. Changes
 * are synchronous, so a run gets either the old or the new environment. Does not start environments.
 */
import type { EnvironmentModule, EnvironmentStatus } from "#sdk";
import type { ActiveEnvironment, EnvironmentLease, Environments } from "../environments.ts";
import type { ModuleState } from "../model.ts";
import type { ModuleInstance } from "./instance.ts";

export type EnvironmentInstance = ModuleInstance<EnvironmentModule>;

interface Held {
  instance: EnvironmentInstance;
  leases: number;
}

export interface EnvironmentHost extends Environments {
  replace(next: EnvironmentInstance | null): void;
  recordRefusal(id: string, reason: string | null): void;
  stateOf(id: string): ModuleState;
  hashOf(id: string): string | null;
  draining(): { id: string; runs: number }[];
  activeRuns(): number;
  /** Tears down every environment, leased or not, including any set later. */
  close(): Promise<void>;
}

export function createEnvironmentHost(onError: (error: unknown, message: string) => void): EnvironmentHost {
  let active: Held | null = null;
  let closed = false;
  let refused: { id: string; reason: string } | null = null;
  const draining = new Set<Held>();
  const teardowns = new Set<Promise<void>>();
  const listeners = new Set<() => void>();

  function tearDown(held: Held): void {
    const done = held.instance.teardown().finally(() => {
      draining.delete(held);
      teardowns.delete(done);
    });
    teardowns.add(done);
  }

  function release(held: Held): void {
    held.leases -= 1;
    if (held.leases === 0 && draining.has(held)) tearDown(held);
  }

  function readStatus(held: Held): EnvironmentStatus | null {
    try {
      return held.instance.module.status?.() ?? null;
    } catch (error) {
      onError(error, "the active environment could not report its status");
      return null;
    }
  }

  function replace(next: EnvironmentInstance | null): void {
    const previous = active;
    if (next !== null) refused = null;
    active = next === null || closed ? null : { instance: next, leases: 0 };
    if (closed && next !== null) tearDown({ instance: next, leases: 0 });
    if (previous !== null) {
      draining.add(previous);
      if (previous.leases === 0) tearDown(previous);
    }
    for (const listener of [...listeners]) {
      try {
        listener();
      } catch (error) {
        onError(error, "a listener for changes of the environment threw");
      }
    }
  }

  return {
    active(): ActiveEnvironment | null {
      const held = active;
      if (held === null) return null;
      return { id: held.instance.id, module: held.instance.module, status: () => readStatus(held) };
    },
    acquire(): EnvironmentLease | null {
      const held = active;
      if (held === null) return null;
      held.leases += 1;
      let given = true;
      return {
        id: held.instance.id,
        module: held.instance.module,
        [Symbol.dispose]() {
          if (!given) return;
          given = false;
          release(held);
        },
      };
    },
    refusal: () => (active === null && refused !== null ? `${refused.id}: ${refused.reason}` : null),
    recordRefusal(id, reason) {
      if (reason !== null && active === null) refused = { id, reason };
      else if (refused?.id === id) refused = null;
    },
    onChange(listener) {
      const entry = () => listener();
      listeners.add(entry);
      return () => {
        listeners.delete(entry);
      };
    },
    replace,
    stateOf(id) {
      if (active?.instance.id === id) return "active";
      return [...draining].some((held) => held.instance.id === id) ? "draining" : "inactive";
    },
    hashOf: (id) => (active?.instance.id === id ? active.instance.hash : null),
    draining: () => [...draining].map((held) => ({ id: held.instance.id, runs: held.leases })),
    activeRuns: () => active?.leases ?? 0,
    async close() {
      if (!closed) {
        closed = true;
        replace(null);
        for (const held of draining) tearDown(held);
      }
      await Promise.all(teardowns);
    },
  };
}
