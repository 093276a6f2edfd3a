/** What becomes of the settings of a run: the limits of a session and the `start` message. The same for all environments. */
import { randomBytes } from "node:crypto";
import type { ExecutionInput, ExecutionOptions } from "#sdk";
import {
  DEFAULT_SESSION_LIMITS,
  PROTOCOL_LIMITS,
  type SessionLimits,
  type StartParams,
} from "../wire/protocol.ts";

/** What a session of one run may take: the settings, and the caps of its streams the host asked for. */
export function toSessionLimits(
  settings: { maxCalls: number; maxConcurrentCalls: number; maxMessageBytes: number },
  options: ExecutionOptions | undefined,
): SessionLimits {
  return {
    ...DEFAULT_SESSION_LIMITS,
    maxCalls: settings.maxCalls,
    maxConcurrentCalls: settings.maxConcurrentCalls,
    maxMessageBytes: settings.maxMessageBytes,
    maxStdoutBytes: options?.maxStdoutBytes ?? DEFAULT_SESSION_LIMITS.maxStdoutBytes,
    maxStderrBytes: options?.maxStderrBytes ?? DEFAULT_SESSION_LIMITS.maxStderrBytes,
  };
}

/** Names of clocks that only a script which names them pays for. */
const WIDE_CLOCKS = /Temporal|DateTimeFormat/;

/** Where a run's random numbers come from. */
export type Seeds = Pick<StartParams, "seed" | "randomSeed">;

export function makeSeeds(): Seeds {
  const bytes = randomBytes(48);
  const randomSeed: number[] = [32, 36, 40, 44].map((at) => bytes.readUInt32LE(at));
  // All zero is the one state that never leaves itself.
  if (Math.max(...randomSeed) === 0) randomSeed[0] = 1;
  return { seed: bytes.toString("base64", 0, 32), randomSeed };
}

/** The `start` message of one run; without `repeat`, of one that was never run before. */
export function toStartParams(
  { eid, ref }: ExecutionInput,
  source: { code: string; mappings: string },
  limits: SessionLimits,
  repeat: Seeds & Pick<StartParams, "journal"> = makeSeeds(),
): StartParams {
  const { maxConcurrentCalls, maxCalls, maxMessageBytes, maxStdoutBytes, maxStderrBytes } = limits;
  const { maxOutputBytes, maxResultBytes } = PROTOCOL_LIMITS;
  return {
    code: source.code,
    mappings: source.mappings,
    process: { id: eid, ref: ref ?? null },
    ...repeat,
    readsWideClocks: WIDE_CLOCKS.test(source.code),
    limits: {
      maxConcurrentCalls,
      maxCalls,
      maxMessageBytes,
      maxStdoutBytes,
      maxStderrBytes,
      maxOutputBytes,
      maxResultBytes,
    },
  };
}
