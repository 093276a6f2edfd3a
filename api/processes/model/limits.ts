/** Limits of a run: what a client asked for, brought within the maxima of the server and of the environment. */
import type { EnvironmentStatus } from "#sdk";
import type { CreateProcessBody } from "./schemas.ts";

/** The longest time a timer and a Postgres integer hold: 24.8 days. */
const MAX_INTEGER_MS = 2_147_483_647;
const MAX_INTEGER_MB = 2_147_483_647;

export interface LimitMaxima {
  /** Null: none. */
  maxTimeoutMs: number | null;
  /** Null: none. */
  maxCpuMs: number | null;
}

export interface LimitsInForce {
  timeoutMs: number | null;
  memoryMb: number | null;
  cpuMs: number | null;
}

/** `status` is the environment the process runs in at once, or null when that is not known yet. */
export function clampLimits(
  asked: CreateProcessBody["options"],
  maxima: LimitMaxima,
  status: EnvironmentStatus | null,
): LimitsInForce {
  return {
    timeoutMs: clampMs(asked.timeout, maxima.maxTimeoutMs),
    memoryMb: memoryInForce(asked.memoryMb ?? null, status),
    cpuMs: clampMs(asked.cpuMs ?? null, maxima.maxCpuMs),
  };
}

function clampMs(asked: number | null, max: number | null): number | null {
  return asked === null ? max : Math.min(asked, max ?? MAX_INTEGER_MS, MAX_INTEGER_MS);
}

/** Null only when nothing was asked for and the environment does not say what it gives. */
export function memoryInForce(askedMb: number | null, status: EnvironmentStatus | null): number | null {
  if (askedMb === null) return status?.limits.memoryMb ?? null;
  return Math.min(askedMb, status?.limits.maxMemoryMb ?? MAX_INTEGER_MB, MAX_INTEGER_MB);
}

/** What is kept of one run's values, as bytes of JSON. */
export const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;
export const MAX_RESULT_BYTES = 4 * 1024 * 1024;
