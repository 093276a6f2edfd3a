/** What a script is started with: the `start` message of its run, with seeds that no other run has. */
import { randomBytes } from "node:crypto";
import type { ExecutionInput } from "#sdk";
import type { PreparedSource } from "../source/prepare.ts";
import { PROTOCOL_LIMITS, type SessionLimits, type StartParams } from "../wire/protocol.ts";
import type { Checkpoint } from "./checkpoint.ts";

/** Names of clocks that only a script which names them pays for. */
const WIDE_CLOCKS = /Temporal|DateTimeFormat/;

/** The `start` message of a run; `before`: of the run that it repeats. */
export function makeStart(
  { eid, ref, input, files }: ExecutionInput,
  { code, mappings, sources, packages }: Extract<PreparedSource, { ok: true }>,
  limits: SessionLimits,
  before: Checkpoint | null,
): StartParams {
  const { maxConcurrentCalls, maxCalls, maxMessageBytes, maxStdoutBytes, maxStderrBytes } = limits;
  const { maxOutputBytes, maxResultBytes } = PROTOCOL_LIMITS;
  const { seed, randomSeed } = before ?? makeSeeds();
  return {
    code,
    mappings,
    ...(sources !== undefined && { sources }),
    ...(packages !== undefined && { packages: [...new Set(packages.map(({ digest }) => digest))] }),
    process: { id: eid, ref: ref ?? null },
    ...(input !== undefined && { input }),
    seed,
    randomSeed,
    ...(before !== null && { journal: before.journal }),
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

const SEED_BYTES = 48;
/** Made for many runs at once: a call of the generator costs the same for 48 bytes and for 3000. */
let seeds = Buffer.alloc(0);

function makeSeeds(): Pick<StartParams, "seed" | "randomSeed"> {
  if (seeds.length === 0) seeds = randomBytes(SEED_BYTES * 64);
  const bytes = seeds.subarray(0, SEED_BYTES);
  seeds = seeds.subarray(SEED_BYTES);
  const randomSeed = [
    bytes.readUInt32LE(32),
    bytes.readUInt32LE(36),
    bytes.readUInt32LE(40),
    bytes.readUInt32LE(44),
  ];
  // All zero is the one state that the generator never leaves.
  if (Math.max(...randomSeed) === 0) randomSeed[0] = 1;
  return { seed: bytes.toString("base64", 0, 32), randomSeed };
}
