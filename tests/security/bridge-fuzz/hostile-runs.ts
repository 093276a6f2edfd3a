/**
 * The same conversations by a real process, against the supervisor: pipes of the kernel, deaths of every kind, and the
 * verdict a client would get.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type RunOutcome, superviseRun } from "#runner/host/supervisor.ts";
import { listInheritedFds } from "#runner/isolation/process-launch.ts";
import { type Child, spawnChild } from "#runner/pool/spawn.ts";
import type { Monitor } from "#runner/process/monitor.ts";
import { findNodeBinary } from "#runner/process/node-binary.ts";
import { type Conversation, createConversation, cutIntoChunks } from "./conversation.ts";
import { createHost } from "./host.ts";
import { START } from "./play.ts";
import { createPrng } from "./prng.ts";

const PROGRAM = join(import.meta.dirname, "hostile-process.cjs");
const WAYS_TO_LEAVE = {
  exit: 3,
  "exit-7": 2,
  abort: 1,
  segv: 1,
  kill: 2,
  "close-output": 1,
  "close-input": 1,
  silence: 1,
  spin: 1,
} as const;
type WayToLeave = keyof typeof WAYS_TO_LEAVE;

const TIMEOUT_MS = 1_500;
const MEMORY_MB = 1_024;
/** What a busy machine may take beyond the time-out, for the kill and for reading what was left. */
const MAX_LATE_MS = 15_000;
const BOOT_TIMEOUT_MS = 30_000;
const MAX_EXIT_MS = 10_000;

export interface HostileRun {
  leaving: WayToLeave;
  reason: string;
  faults: string[];
}

/** Plays the conversation of `seed` by a process of its own. Never rejects for what the process does. */
export async function playAsProcess(seed: number, monitor: Monitor): Promise<HostileRun> {
  const conversation = { ...createConversation(seed), greeting: null };
  const prng = createPrng(seed ^ 0x2545f491);
  const leaving = prng.weighted(WAYS_TO_LEAVE);
  const folder = await mkdtemp(join(tmpdir(), "cyrnel-fuzz-"));
  await using _ = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
  const plan = join(folder, "plan");
  const chunks = cutIntoChunks(conversation);
  await writeFile(`${plan}.bytes`, Buffer.concat(chunks));
  const reading = conversation.reading === "all" ? "all" : "never";
  const sizes = chunks.map(({ length }) => length);
  await writeFile(plan, JSON.stringify({ fds: listInheritedFds(), chunks: sizes, reading, leaving }));

  const { path: nodePath, version: nodeVersion } = findNodeBinary();
  const args = ["--no-warnings", PROGRAM, plan];
  const child = await spawnChild({
    nodePath,
    nodeVersion,
    args,
    cwd: folder,
    bootTimeoutMs: BOOT_TIMEOUT_MS,
    ownLayers: [0, 1],
  });
  const host = createHost(prng, conversation.handlers, conversation.session, conversation.expected !== null);
  const kill = new AbortController();
  const { abortAfterChunks } = conversation;
  const killer =
    abortAfterChunks === null ? undefined : setTimeout(() => kill.abort(), abortAfterChunks * 20);
  const { outcome: ended } = superviseRun({
    child,
    monitor,
    start: START,
    openCalls: () => host.calls,
    events: host.events,
    sessionLimits: conversation.session,
    limits: { timeoutMs: TIMEOUT_MS, cpuMs: null, memoryMb: MEMORY_MB },
    killSignal: kill.signal,
    afterEnd: "kill",
  });
  const outcome = await ended;
  clearTimeout(killer);
  await host.finish();
  const exit = await waitForExit(child, MAX_EXIT_MS);
  await waitUntilClosed(child, MAX_EXIT_MS);
  const faults = [...judgeOutcome(conversation, leaving, outcome), ...host.faults];
  if (exit === null) faults.push("the process outlived its run");
  if (!child.channel.isClosed) faults.push("the channel was left open");
  return { leaving, reason: outcome.reason, faults };
}

async function waitUntilClosed(child: Child, maxMs: number): Promise<void> {
  for (const startedAt = performance.now(); performance.now() - startedAt < maxMs; ) {
    if (child.channel.isClosed) return;
    await delay(5);
  }
}

/** Null if the child is still there after `maxMs`. */
async function waitForExit(child: Child, maxMs: number): Promise<Child["exit"]> {
  const patience = new AbortController();
  const late = delay(maxMs, null, { signal: patience.signal }).catch(() => null);
  const exit = await Promise.race([child.exited, late]);
  patience.abort();
  return exit;
}

const REASONS: Record<RunOutcome["state"], readonly string[]> = {
  success: ["ok"],
  failed: ["script_error", "unhandled_rejection", "output_limit", "sandbox_violation", "crashed"],
  timeout: ["timeout"],
  canceled: ["killed"],
};

function judgeOutcome(conversation: Conversation, leaving: WayToLeave, outcome: RunOutcome): string[] {
  const { state, reason, error, wallMs, hostError } = outcome;
  const faults: string[] = [];
  if (!REASONS[state].includes(reason)) faults.push(`ended ${state} for ${reason}`);
  // Words for an end of the child's own making are its own too.
  if (!["ok", "script_error", "unhandled_rejection", "output_limit"].includes(reason) && !error?.message)
    faults.push(`${reason} without a sentence`);
  if (hostError !== undefined) faults.push(`the host failed: ${String(hostError)}`);
  if (wallMs > TIMEOUT_MS + MAX_LATE_MS) faults.push(`ended after ${Math.round(wallMs)} ms`);
  if (state === "timeout" && wallMs < TIMEOUT_MS * 0.9)
    faults.push(`timed out after ${Math.round(wallMs)} ms`);
  const { expected, kind } = conversation;
  // One that reads nothing may be stuck behind its own calls until the time-out.
  if (expected === null || reason === "timeout") return faults;
  if (expected.end.kind === "violation" && reason !== "sandbox_violation" && reason !== "output_limit") {
    faults.push(`a ${kind} run that left by ${leaving} ended for ${reason}`);
  }
  if (
    expected.end.kind === "end" &&
    !["ok", "script_error", "unhandled_rejection", "output_limit"].includes(reason)
  ) {
    faults.push(`a ${kind} run that left by ${leaving} ended for ${reason}`);
  }
  return faults;
}
