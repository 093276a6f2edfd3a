/** How much a run may send over its channel, and how often. */
import { PROTOCOL_LIMITS } from "./protocol.ts";

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
