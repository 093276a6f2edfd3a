/**
 * Each session belongs to the caller that opened it. The number of sessions is limited: opening too many ends the
 * caller's own longest idle one. A caller cannot end a session that another caller is using.
 */
import { randomUUID } from "node:crypto";
import type { Caller } from "../http/auth.ts";
import type { McpPorts } from "./ports.ts";
import { type ClientSession, openSession } from "./session.ts";

export interface SessionLimits {
  maxSessions: number;
  maxSessionsPerCaller: number;
  maxIdleMs: number;
  maxRequestsPerSession: number;
}

export const SESSION_LIMITS: SessionLimits = {
  maxSessions: 2000,
  maxSessionsPerCaller: 100,
  maxIdleMs: 30 * 60_000,
  maxRequestsPerSession: 32,
};
const SWEEP_INTERVAL_MS = 30_000;
/** Idle time before other callers can displace a session. */
const MIN_IDLE_MS = 60_000;

export interface HeldSession {
  readonly session: ClientSession;
  readonly caller: Caller;
  waiting: number;
  /** Last use, as a `performance.now()` value. */
  lastUsedMs: number;
}

export interface Sessions {
  readonly size: number;
  /**
   * Opens a session that does not count towards the limit yet. Pass it to `keep` once the client is initialized,
   * otherwise close it.
   */
  open(caller: Caller): Promise<HeldSession>;
  /** Counts the session, or closes it and returns false if there is no room. */
  keep(held: HeldSession): boolean;
  find(id: string, caller: Caller): HeldSession | null;
  close(): Promise<void>;
}

export function createSessions(ports: McpPorts, limits: SessionLimits = SESSION_LIMITS): Sessions {
  const held = new Map<string, HeldSession>();
  const sweeper = setInterval(sweep, SWEEP_INTERVAL_MS).unref();

  function sweep(): void {
    const oldestMs = performance.now() - limits.maxIdleMs;
    for (const one of held.values()) {
      const isForgotten = one.waiting === 0 && one.lastUsedMs < oldestMs;
      if (isForgotten || !ports.isLive(one.caller)) end(one);
    }
  }

  function end(one: HeldSession): void {
    held.delete(one.session.id);
    one.session.close().catch((error: unknown) => {
      ports.log.debug({ err: error, session: one.session.id }, "an MCP session did not close");
    });
  }

  /** Ends the longest idle candidate if it has been idle for `minIdleMs`. */
  function makeRoom(candidates: Iterable<HeldSession>, minIdleMs: number): boolean {
    let found: HeldSession | null = null;
    for (const one of candidates) {
      if (one.waiting === 0 && (found === null || one.lastUsedMs < found.lastUsedMs)) found = one;
    }
    if (found === null || performance.now() - found.lastUsedMs < minIdleMs) return false;
    end(found);
    return true;
  }

  return {
    get size() {
      return held.size;
    },
    async open(caller) {
      const id = randomUUID();
      const session = await openSession(ports, id, () => held.delete(id));
      return { session, caller, waiting: 0, lastUsedMs: performance.now() };
    },
    keep(one) {
      const own = [...held.values()].filter(({ caller }) => caller.id === one.caller.id);
      const fits =
        (own.length < limits.maxSessionsPerCaller || makeRoom(own, 0)) &&
        (held.size < limits.maxSessions || makeRoom(own, 0) || makeRoom(held.values(), MIN_IDLE_MS));
      if (fits) held.set(one.session.id, one);
      else end(one);
      return fits;
    },
    find(id, caller) {
      const one = held.get(id);
      return one === undefined || one.caller.id !== caller.id ? null : one;
    },
    async close() {
      clearInterval(sweeper);
      const all = [...held.values()];
      held.clear();
      await Promise.all(all.map(({ session }) => session.close()));
    },
  };
}
