/**
 * Guarded fetch: Node's own fetch over connections that the egress rules allow. Downloads and adapters send every
 * request and redirect through it. A name is resolved once and the connection goes to a checked address, so a
 * resolver that changes its response has no effect.
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
  lookup?: LookupFunction;
  /** Time limit for connecting, including name resolution. Default 10,000. */
  connectTimeoutMs?: number;
  /** Limits the wait for headers and between two parts of a body. Default 300,000. */
  idleTimeoutMs?: number;
  maxConnectionsPerOrigin?: number;
}

/** Rejects with EgressRefused if the destination is forbidden. Disposing closes every connection. */
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
      const guarded: unknown = { ...init, dispatcher: agent };
      return await globalThis.fetch(input, guarded as RequestInit);
    } catch (error) {
      throw findRefusal(error) ?? error;
    }
  }

  return Object.assign(guardedFetch, { [Symbol.asyncDispose]: () => agent.destroy() });
}

function findRefusal(error: unknown): EgressRefused | null {
  let current: unknown = error;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth += 1) {
    if (current instanceof EgressRefused) return current;
    current = current.cause;
  }
  return null;
}

interface ConnectOptions {
  lookup?: LookupFunction;
  connectTimeoutMs: number;
}

const MAX_ADDRESSES = 32;

interface Answer {
  address: string;
  family: number;
}

/** The connector fails with EgressRefused if the rules do not allow an address. */
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
      // Literal addresses are never looked up, so check them here.
      if (parseAddress(host)) requireAllowedAddress(host, host, rules);
    } catch (error) {
      // undici expects no callback before this call has returned.
      process.nextTick(callback, error as Error, null);
      return;
    }
    connect(target, callback);
  };
}

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
