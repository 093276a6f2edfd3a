/**
 * Every message between the host and a child, both ways: JSON-RPC 2.0 in frames of a 4-byte big-endian length and
 * that many bytes of UTF-8 JSON. The host checks each message of a child against these schemas; the child imports
 * types only. A frame's connection is its identity: no message names an execution.
 */
import type { Journal } from "./protocol-schemas.ts";

export type {
  BootedParams,
  CallMethod,
  ChildMessage,
  EndParams,
  Journal,
  ReadyParams,
} from "./protocol-schemas.ts";

/** Raised whenever a message changes shape; a child with another version is refused. */
export const PROTOCOL_VERSION = 3;

/** Bounds of one connection. Configurable ones are defaults. */
export const PROTOCOL_LIMITS = {
  /** One frame, child to host, except `end` (see maxEndBytes). */
  maxMessageBytes: 1024 * 1024,
  /** The `end` and `output` frames, which carry a result or output. JSON text may be larger than the value's cap. */
  maxEndBytes: 8 * 1024 * 1024,
  /** All frames of one run, child to host. */
  maxTotalBytes: 64 * 1024 * 1024,
  /** Nesting of a message; checked on the text, before it is parsed. */
  maxDepth: 64,
  maxResultDepth: 512,
  maxOutputBytes: 4 * 1024 * 1024,
  maxResultBytes: 4 * 1024 * 1024,
} as const;

/** How much a run may send over its channel, and how often. */
export interface SessionLimits {
  maxConcurrentCalls: number;
  maxCalls: number;
  maxMessageBytes: number;
  maxEndBytes: number;
  maxTotalBytes: number;
  /** Bytes handed to `events` of each stream; what goes beyond is dropped after its first byte. */
  maxStdoutBytes: number;
  maxStderrBytes: number;
}

/** The limits of a session where nothing is configured. */
export const DEFAULT_SESSION_LIMITS: SessionLimits = {
  maxConcurrentCalls: 32,
  maxCalls: 10_000,
  maxMessageBytes: PROTOCOL_LIMITS.maxMessageBytes,
  maxEndBytes: PROTOCOL_LIMITS.maxEndBytes,
  maxTotalBytes: PROTOCOL_LIMITS.maxTotalBytes,
  maxStdoutBytes: 1024 * 1024,
  maxStderrBytes: 1024 * 1024,
};

/** How the realm is set up; the same for the process child and for an isolate. */
export interface StartParams {
  /** JavaScript: an expression that evaluates to an async function without parameters. ASCII or UTF-16 as it is. */
  code: string;
  /** Source map `mappings` (VLQ) from `code` to the submitted source, for stacks. */
  mappings: string;
  process: { id: number; ref: string | null };
  /** 32 random bytes, base64: seed of `crypto.getRandomValues`. */
  seed: string;
  /** Four integers from 0 to 2^32-1, not all zero: seed of `Math.random`. */
  randomSeed: number[];
  /** The script names a clock beside `Date` and `performance`: `Temporal`, or formats that default to the time it is. */
  readsWideClocks: boolean;
  /** What the run did before: it does the same again, then goes on. */
  journal?: Journal;
  limits: {
    maxConcurrentCalls: number;
    maxCalls: number;
    maxMessageBytes: number;
    maxStdoutBytes: number;
    maxStderrBytes: number;
    maxOutputBytes: number;
    maxResultBytes: number;
  };
}

/** What a reply may carry about a failure on the host: never a stack. */
export interface WireError {
  name: string;
  message: string;
  code?: string;
  status?: number;
}

/** Host to child. `start` comes exactly once, after `ready`; replies follow calls; `paused` of the child follows `pause`. */
export type HostMessage =
  | { jsonrpc: "2.0"; method: "start"; params: StartParams }
  /** At the end of its turn the script is frozen until `resume`. */
  | { jsonrpc: "2.0"; method: "pause" | "resume" }
  | { jsonrpc: "2.0"; id: number; result: unknown }
  | { jsonrpc: "2.0"; id: number; error: { code: number; message: string; data: WireError } };
