/**
 * What every environment lets an operator set about a run, and what becomes of it: the limits of a session and the
 * `start` message. One definition for all environments.
 */
import { randomBytes } from "node:crypto";
import { z } from "zod";
import type { ExecutionInput, ExecutionOptions } from "#sdk";
import { PROTOCOL_LIMITS, type StartParams } from "./protocol.ts";
import { DEFAULT_SESSION_LIMITS, type SessionLimits } from "./session.ts";

const WEEK_MS = 7 * 24 * 3600 * 1000;

/** The settings by name, as members of an environment's own `z.strictObject`. Memory in MB of 2^20 bytes. */
export function runSettings(memory: { minMb: number; maxMb: number; what: string }) {
  const memoryMb = z.int().min(memory.minMb).max(memory.maxMb);
  return {
    queueTtlMs: z
      .int()
      .min(1)
      .max(WEEK_MS)
      .nullable()
      .default(null)
      .describe(
        "How long a run may wait for its turn before it is canceled, in milliseconds; null: no limit.",
      ),
    memoryMb: memoryMb
      .default(128)
      .describe(`Memory of a run that asks for nothing, in MB (2^20 bytes): ${memory.what}.`),
    maxMemoryMb: memoryMb.default(1024).describe("The most a run may ask for, in MB."),
    maxCalls: z
      .int()
      .min(0)
      .max(1_000_000)
      .default(DEFAULT_SESSION_LIMITS.maxCalls)
      .describe("Calls a run may make of its host."),
    maxConcurrentCalls: z
      .int()
      .min(1)
      .max(1000)
      .default(DEFAULT_SESSION_LIMITS.maxConcurrentCalls)
      .describe("Calls of one run in flight at once; further ones wait inside the script."),
    maxMessageBytes: z
      .int()
      .min(64 * 1024)
      .max(PROTOCOL_LIMITS.maxEndBytes)
      .default(PROTOCOL_LIMITS.maxMessageBytes)
      .describe("One message from a script to its host, such as the parameters of a call, in bytes of JSON."),
    allowEval: z.boolean().default(false).describe("Allows eval and new Function inside a script."),
    allowWasm: z.boolean().default(false).describe("Allows WebAssembly inside a script."),
  };
}

/** @throws Error when the default memory is more than the most a run may ask for. */
export function requireMemoryOrder({
  memoryMb,
  maxMemoryMb,
}: {
  memoryMb: number;
  maxMemoryMb: number;
}): void {
  if (memoryMb > maxMemoryMb) {
    throw new Error(`memoryMb (${memoryMb}) must not be larger than maxMemoryMb (${maxMemoryMb}).`);
  }
}

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
