import { randomBytes } from "node:crypto";
import { type ExecutionInput, writeExactJson } from "#sdk";
import type { PreparedSource } from "../preparer/prepare.ts";
import { PROTOCOL_LIMITS, type SessionLimits, type StartParams } from "../wire/protocol.ts";
import type { Checkpoint } from "./checkpoint.ts";

/** Names of clocks that are set up only for scripts that mention them. */
const WIDE_CLOCKS = /Temporal|DateTimeFormat/;

export function makeStart(
  { eid, ref, input, files }: ExecutionInput,
  { code, mappings, sources, packages }: Extract<PreparedSource, { ok: true }>,
  limits: SessionLimits,
  checkpoint: Checkpoint | null,
): StartParams {
  const { maxConcurrentCalls, maxCalls, maxMessageBytes, maxStdoutBytes, maxStderrBytes } = limits;
  const { maxOutputBytes, maxResultBytes } = PROTOCOL_LIMITS;
  const { seed, randomSeed } = checkpoint ?? makeSeeds();
  return {
    code,
    mappings,
    ...(sources !== undefined && { sources }),
    ...(packages !== undefined && { packages: [...new Set(packages.map(({ digest }) => digest))] }),
    process: { id: eid, ref: ref ?? null },
    ...(input !== undefined && describeInput(input)),
    seed,
    randomSeed,
    ...(checkpoint !== null && { journal: checkpoint.journal }),
    readsWideClocks: WIDE_CLOCKS.test(code),
    ...(files !== undefined && files.length > 0 && { files: [...files] }),
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

function describeInput(input: unknown): Pick<StartParams, "input" | "exactInput"> {
  const { text = "", isExact } = writeExactJson(input);
  return isExact ? { exactInput: text } : { input };
}

const SEED_BYTES = 48;
/** Random bytes for 64 runs at a time: generating 3000 bytes costs the same as 48. */
let seeds = Buffer.alloc(0);

function makeSeeds(): Pick<StartParams, "seed" | "randomSeed"> {
  if (seeds.length === 0) seeds = randomBytes(SEED_BYTES * 64);
  const bytes = seeds.subarray(0, SEED_BYTES);
  seeds = seeds.subarray(SEED_BYTES);
  const randomSeed = [32, 36, 40, 44].map((at) => bytes.readUInt32LE(at));
  // The generator never leaves the all-zero state.
  if (Math.max(...randomSeed) === 0) randomSeed[0] = 1;
  return { seed: bytes.toString("base64", 0, 32), randomSeed };
}
