/**
 * The guarded fetch: Node's own, over connections that the egress rules allow. Every outbound request of downloads and
 * adapters goes through it, each redirect included.
 */
import type { LookupFunction } from "node:net";
import { Agent } from "undici";
import { createCheckingConnector } from "./connect.ts";
import { EgressRefused, type EgressRules, requireAllowedUrl } from "./rules.ts";

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
      // Last, so that no caller brings connections of its own.
      const guarded: unknown = { ...init, dispatcher: agent };
      return await globalThis.fetch(input, guarded as RequestInit);
    } catch (error) {
      throw findRefusal(error) ?? error;
    }
  }

  return Object.assign(guardedFetch, { [Symbol.asyncDispose]: () => agent.destroy() });
}

/** The refusal among the causes of an error: fetch wraps what a connection failed of. */
function findRefusal(error: unknown): EgressRefused | null {
  let current: unknown = error;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth += 1) {
    if (current instanceof EgressRefused) return current;
    current = current.cause;
  }
  return null;
}
