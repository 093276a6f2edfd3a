/**
 * The guarded fetch: Node's own, over connections that the egress rules allow. Every outbound request of downloads and
 * adapters goes through it, each redirect included. A name is resolved once, its addresses are checked, and the
 * connection goes to one of exactly these: a resolver that answers differently the second time has no effect.
 */
import { lookup as systemLookup } from "node:dns";
import type { LookupFunction } from "node:net";
import { Agent, buildConnector } from "undici";
import { parseAddress } from "./addresses.ts";
import { normalizeHost } from "./entries.ts";
import {
  EgressRefused,
  type EgressRules,
  requireAllowedAddress,
  requireAllowedHost,
  requireAllowedUrl,
} from "./rules.ts";

export interface GuardedFetchOptions {
  /** Resolves names; default: the system's resolver. */
  lookup?: LookupFunction;
  /** Longest wait for a connection, name resolution included. Default 10 000. */
  connectTimeoutMs?: number;
  /** Longest silence of a server, before its headers and between two parts of a body. Default 300 000. */
  idleTimeoutMs?: number;
  /** Connections to one origin at once; more requests wait for one of them. Default 256. */
  maxConnectionsPerOrigin?: number;
}

/**
 * As `fetch`; a refused destination rejects with EgressRefused (`code: "egress_refused"`). Disposing it ends every
 * connection.
 */
export type GuardedFetch = typeof globalThis.fetch & AsyncDisposable;

const MAX_CAUSES = 8;

export function createGuardedFetch(rules: EgressRules, options: GuardedFetchOptions = {}): GuardedFetch {
  const idleTimeoutMs = options.idleTimeoutMs ?? 300_000;
  const agent = new Agent({
    connect: createCheckingConnector(rules, {
      connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
      ...(options.lookup ? { lookup: options.lookup } : {}),
    }),
    connections: options.maxConnectionsPerOrigin ?? 256,
    headersTimeout: idleTimeoutMs,
    bodyTimeout: idleTimeoutMs,
    allowH2: false,
  });

  async function guardedFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    requireAllowedUrl(new URL(input instanceof Request ? input.url : input), rules);
    try {
      // Last, so that a caller cannot replace the dispatcher.
      const guarded: unknown = { ...init, dispatcher: agent };
      return await globalThis.fetch(input, guarded as RequestInit);
    } catch (error) {
      throw findRefusal(error) ?? error;
    }
  }

  return Object.assign(guardedFetch, { [Symbol.asyncDispose]: () => agent.destroy() });
}

/** The refusal among the causes of an error: fetch wraps the error of a connection. */
function findRefusal(error: unknown): EgressRefused | null {
  let current: unknown = error;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth += 1) {
    if (current instanceof EgressRefused) return current;
    current = current.cause;
  }
  return null;
}

interface ConnectOptions {
  /** Resolves names; default: the system's resolver. Asked for all addresses of a name. */
  lookup?: LookupFunction;
  connectTimeoutMs: number;
}

const MAX_ADDRESSES = 32;

interface Answer {
  address: string;
  family: number;
}

/** A connector for undici that connects to allowed addresses only. Errors of rules are EgressRefused. */
function createCheckingConnector(rules: EgressRules, options: ConnectOptions): buildConnector.connector {
  const resolve = options.lookup ?? (systemLookup as LookupFunction);

  const checkedLookup: LookupFunction = (hostname, lookupOptions, callback) => {
    resolve(hostname, { ...lookupOptions, all: true }, (error, answer) => {
      if (error) return callback(error, "", 0);
      const outcome = selectAllowed(answer as unknown as Answer[], hostname, rules);
      if (outcome instanceof Error) return callback(outcome, "", 0);
      if (lookupOptions.all) return callback(null, outcome as never);
      const [first] = outcome as [Answer];
      callback(null, first.address, first.family);
    });
  };

  const connect = buildConnector({
    timeout: options.connectTimeoutMs,
    allowH2: false,
    lookup: checkedLookup,
  } as buildConnector.BuildOptions);

  return (target, callback) => {
    try {
      const host = normalizeHost(target.hostname);
      requireAllowedHost(host, rules);
      // An address is connected to without a lookup.
      if (parseAddress(host)) requireAllowedAddress(host, host, rules);
    } catch (error) {
      // Asynchronously, like every other outcome: undici is still inside the call that asked for the connection.
      process.nextTick(callback, error as Error, null);
      return;
    }
    connect(target, callback);
  };
}

/** The allowed ones among the addresses of a name; an error when there are none. */
function selectAllowed(answers: Answer[], hostname: string, rules: EgressRules): Answer[] | Error {
  const allowed: Answer[] = [];
  let refusal: Error | null = null;
  for (const answer of answers.slice(0, MAX_ADDRESSES)) {
    try {
      requireAllowedAddress(answer.address, hostname, rules);
      allowed.push(answer);
    } catch (error) {
      refusal ??= error as Error;
    }
  }
  if (allowed.length > 0) return allowed;
  return refusal ?? new EgressRefused(`A connection to ${hostname} is refused: its name has no address.`);
}
