/** Starts the slot processes: which binary, which flags, which directory, and when one is used up. */
import { join } from "node:path";
import { encodeBootOptions } from "#runner/child/boot-options.ts";
import { V8_FLAGS } from "#runner/child/flags.ts";
import { openWall, type Wall } from "#runner/isolation/wall.ts";
import { DIST } from "#runner/places.ts";
import { listInheritedFds } from "#runner/process/inherited-fds.ts";
import { toGroupBudget, toKernelBudget, toWatchBudget } from "#runner/process/memory-budget.ts";
import { createMonitor } from "#runner/process/monitor.ts";
import { findNodeBinary, type NodeBinary } from "#runner/process/node-binary.ts";
import { readOwnBytes, trackProcesses } from "#runner/process/process-memory.ts";
import { type Child, spawnChild } from "#runner/process/spawn.ts";
import { openEmptyFolder } from "#runner/process/temporary.ts";
import type { IsolationLevel, ModuleLogger } from "#sdk";
import type { IvmConfig } from "./config.ts";
import { findNativeLibrary } from "./native-library.ts";
import type { Slot } from "./slot.ts";
import { createSlotPool, type SlotPool } from "./slots.ts";

const ENTRY = join(DIST, "slot.js");
/** Generous: a machine that starts many at once is slow, and one that hangs must still be noticed. */
const BOOT_TIMEOUT_MS = 10_000;
const QUIET_MS = 10_000;
/** The memory of an idle slot is read once in so many runs. */
const RUNS_PER_MEMORY_CHECK = 16;
/** While a run is on it a slot is watched more closely; this is for one that was taken over and goes on between runs. */
const STANDING_WATCH_MS = 250;
const BYTES_PER_MB = 1024 * 1024;
/** Beside the one made ahead, which an idle slot holds: of a run with another limit, and for making code caches. */
const MORE_ISOLATES = 2;
/** What V8 sets aside for the code of an isolate; it counts as data although it is hardly used. */
const CODE_RANGE_MB = 512;

/**
 * Flags of Node for a slot. Granted are addons and, in the jail, calls of the kernel (`--allow-ffi`, by the wall), and no
 * files: the library is loaded by its path, not read through Node. All is dropped before the slot says `ready`.
 */
export const SLOT_FLAGS = [
  "--permission",
  "--allow-addons",
  // The library crashes in a process that was started from Node's own snapshot.
  "--no-node-snapshot",
  "--no-experimental-sqlite",
  "--disable-sigusr1",
  "--disable-proto=delete",
  "--no-warnings",
  "--openssl-config=/dev/null",
  ...V8_FLAGS,
  // Saves another tenth: isolates live too briefly for a compiler in another thread to be of use for them.
  "--no-concurrent-sparkplug",
] as const;

export interface SlotProcesses extends AsyncDisposable {
  readonly node: NodeBinary;
  readonly pool: SlotPool;
  readonly wall: Wall;
  /** Own memory of all slots; undefined where it cannot be read. */
  readMemoryBytes(): number | undefined;
}

/**
 * Opens the wall and makes the empty directory and the pool; no slot is started yet. `countFrozen`: runs that hold a slot
 * without using it. Disposing ends every slot and removes it.
 * Throws JailUnavailableError.
 */
export async function openSlotProcesses(
  config: IvmConfig,
  asked: { level: IsolationLevel; isExposed: boolean },
  logger: ModuleLogger,
  countFrozen: () => number,
): Promise<SlotProcesses> {
  await using undo = new AsyncDisposableStack();
  const node = findNodeBinary();
  const libraryPath = findNativeLibrary();
  const { path: cwd } = undo.use(await openEmptyFolder("slot"));
  const readable = [DIST, libraryPath];
  const wall = undo.use(
    await openWall({ ...asked, nodePath: node.path, readable, cwd, paranoid: false, startsThreads: true }),
  );
  const launch = {
    nodePath: node.path,
    nodeVersion: node.version,
    args: [
      ...SLOT_FLAGS,
      ...wall.nodeFlags,
      ENTRY,
      libraryPath,
      String(config.memoryMb),
      encodeBootOptions({
        allowEval: config.allowEval,
        allowWasm: config.allowWasm,
        closeFds: listInheritedFds(),
        lock: wall.lock,
      }),
    ],
    cwd,
    bootTimeoutMs: BOOT_TIMEOUT_MS,
    isLocked: wall.lock !== null,
    // One limit for the life of a slot: that of a run is its isolate's, this is for what an isolate does not count.
    inspect: (pid: number) => wall.admit(pid, toSlotBudget(config)),
    place: () => wall.place(toGroupBudget(config.maxMemoryMb + config.maxSlotGrowthMb)),
  };
  const tracked = trackProcesses(wall.start);
  const monitor = undo.use(createMonitor(STANDING_WATCH_MS));
  const memoryBytes = toWatchBudget(config.maxMemoryMb + config.maxSlotGrowthMb);
  async function start(signal: AbortSignal): Promise<Child> {
    const child = await spawnChild(launch, signal, tracked.start);
    const watch = monitor.watch(child.pid, { cpuMs: null, memoryBytes }, (exceeded) => {
      logger.warn({ exceeded }, "A slot process that took too much was ended.");
      child.kill();
    });
    void child.exited.then(() => watch.finish());
    return child;
  }
  const memoryAtFirst = new WeakMap<Slot, number>();
  const pool = undo.use(
    createSlotPool({
      start,
      min: config.minSlots,
      max: () => config.slots + countFrozen(),
      quietMs: QUIET_MS,
      isUsedUp(slot) {
        if (slot.runs >= config.maxRunsPerSlot) return true;
        if (slot.runs % RUNS_PER_MEMORY_CHECK !== 1) return false;
        const bytes = readOwnBytes(slot.pid);
        const atFirst = memoryAtFirst.get(slot);
        if (atFirst === undefined) memoryAtFirst.set(slot, bytes);
        return atFirst !== undefined && bytes - atFirst > config.maxSlotGrowthMb * BYTES_PER_MB;
      },
      onTrouble: (error) => logger.warn({ err: error }, error.message),
    }),
  );
  const owned = undo.move();
  const { readMemoryBytes } = tracked;
  return { node, pool, wall, readMemoryBytes, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** The largest run, what a slot may keep from earlier ones, and the code ranges of the isolates it holds at once. */
function toSlotBudget({ maxMemoryMb, maxSlotGrowthMb }: IvmConfig): number {
  return toKernelBudget(maxMemoryMb + maxSlotGrowthMb) + MORE_ISOLATES * CODE_RANGE_MB * BYTES_PER_MB;
}
