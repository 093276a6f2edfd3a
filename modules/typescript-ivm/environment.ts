/** Runs each script in a fresh V8 isolate inside a slot process, which serves one script at a time. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { encodeBootOptions } from "#runner/child/boot-options.ts";
import { V8_FLAGS } from "#runner/child/flags.ts";
import { type BundledEnvironment, type Children, createEnvironment } from "#runner/host/environment.ts";
import type { OpenRun } from "#runner/host/execution.ts";
import { judge } from "#runner/host/outcome.ts";
import type { RunLimits, RunOutcome } from "#runner/host/supervisor.ts";
import { BOOT_TIMEOUT_MS, listInheritedFds } from "#runner/isolation/process-launch.ts";
import { openWall, type Wall } from "#runner/isolation/wall.ts";
import { DIST } from "#runner/paths.ts";
import { Pool } from "#runner/pool/pool.ts";
import { type Child, type ChildLaunch, spawnChild } from "#runner/pool/spawn.ts";
import {
  createMonitor,
  type Monitor,
  readOwnBytes,
  toGroupBudget,
  toKernelBudget,
  toWatchBudget,
  trackProcesses,
} from "#runner/process/monitor.ts";
import { findNodeBinary } from "#runner/process/node-binary.ts";
import { openEmptyFolder } from "#runner/process/temporary.ts";
import type { IsolationLevel, ModuleLogger } from "#sdk";
import { type IvmConfig, readConfig } from "./config.ts";
import type { DoneParams } from "./control.ts";
import { beginSlotRun } from "./slot-run.ts";

const QUIET_MS = 10_000;
const RUNS_PER_MEMORY_CHECK = 16;
/** Interval that detects a slot taken over by a script; during a run it is watched more closely. */
const STANDING_WATCH_MS = 250;
/** Most runs end within a millisecond, so reading /proc starts later. CPU time used before that counts in full. */
const FIRST_LOOK_MS = 15;
const BYTES_PER_MB = 1024 * 1024;
/** Isolates beside the prepared one: one for a run with a different limit, one for creating code caches. */
const MORE_ISOLATES = 2;
/** V8 reserves this for an isolate's code; it counts as data although little of it is used. */
const CODE_RANGE_MB = 512;
/** Limits a single entry into an isolate, after the supervisor's deadline. */
const BACKSTOP_MARGIN_MS = 5_000;
/** Limits a single entry in a run without a time limit. */
const MAX_ENTRY_MS = 24 * 3600 * 1000;

/**
 * Grants addons and, in the jail, FFI for system calls (`--allow-ffi`). A slot drops both before it sends `ready`.
 */
const SLOT_FLAGS = [
  "--permission",
  "--allow-addons",
  // isolated-vm crashes in a process that was started from Node's own snapshot.
  "--no-node-snapshot",
  "--no-experimental-sqlite",
  "--disable-sigusr1",
  "--disable-proto=delete",
  "--no-warnings",
  "--openssl-config=/dev/null",
  ...V8_FLAGS,
  // Isolates are too short-lived for a concurrent compiler to help.
  "--no-concurrent-sparkplug",
] as const;

export function createIvmEnvironment(): BundledEnvironment {
  return createEnvironment<IvmConfig>({
    facts: {
      id: "typescript-ivm",
      name: "TypeScript in an isolate",
      isolation:
        "every run gets a fresh V8 isolate of its own, with a memory of its own, inside a process without permissions, environment or files that runs one script at a time; the isolate is thrown away with the run, the process serves further runs.",
    },
    observed: {
      realm:
        "a slot process made an isolate, ran a script in it and said so; an isolate shares no object with its process, and only strings cross",
      permissions:
        "a slot process was started with the right to load addons, loaded one, gave up every permission, asked for each again, tried to load the addon again and was refused",
    },
    unit: "slot",
    readConfig,
    countSlots: (config) => config.slots,
    open: openSlots,
  });
}

export async function openSlots(
  config: IvmConfig,
  asked: { level: IsolationLevel; isExposed: boolean },
  logger: ModuleLogger,
): Promise<Children> {
  await using undo = new AsyncDisposableStack();
  const node = findNodeBinary();
  const libraryPath = findNativeLibrary();
  const { path: cwd } = undo.use(await openEmptyFolder("slot"));
  const readable = [DIST, libraryPath];
  const wall = undo.use(
    await openWall({ ...asked, nodePath: node.path, readable, cwd, paranoid: false, startsThreads: true }),
  );
  const { allowEval, allowWasm } = config;
  // Applies to a slot's entire life, and to memory that isolates do not count.
  const slotMb = config.maxMemoryMb + config.maxSlotGrowthMb;
  const launch: ChildLaunch = {
    nodePath: node.path,
    nodeVersion: node.version,
    args: [
      ...SLOT_FLAGS,
      ...wall.nodeFlags,
      join(DIST, "slot.js"),
      libraryPath,
      String(config.memoryMb),
      encodeBootOptions({ allowEval, allowWasm, closeFds: listInheritedFds(), lock: wall.lock }),
    ],
    cwd,
    bootTimeoutMs: BOOT_TIMEOUT_MS,
    ownLayers: wall.lock === null ? [0, 1] : [0, 1, 3],
    // The sum of the largest run, the growth of earlier ones, and the code ranges of all isolates that exist at once.
    inspect: (pid) => wall.admit(pid, toKernelBudget(slotMb) + MORE_ISOLATES * CODE_RANGE_MB * BYTES_PER_MB),
    place: () => wall.place(toGroupBudget(slotMb)),
  };
  const { start, readMemoryBytes } = trackProcesses(wall.start);
  const standing = undo.use(createMonitor(STANDING_WATCH_MS));
  const pool = undo.use(
    new Pool({
      async start(signal) {
        const child = await spawnChild(launch, signal, start);
        const limits = { cpuMs: null, memoryBytes: toWatchBudget(slotMb) };
        const watch = standing.watch(child.pid, limits, (exceeded) => {
          logger.warn({ exceeded }, "A slot process that took too much was ended.");
          child.kill();
        });
        void child.exited.then(() => watch.finish());
        return child;
      },
      isReused: true,
      min: config.minSlots,
      max: config.slots,
      quietMs: QUIET_MS,
      onError: ({ kind, error }) => logger.warn({ err: error, kind }, error.message),
    }),
  );
  const monitor = undo.use(createLateMonitor());
  const openRun = createRunOpener({ config, pool, wall, logger });
  const owned = undo.move();
  return {
    node,
    pool,
    monitor,
    wall,
    openRun,
    readMemoryBytes,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/**
 * Slots load this path without isolated-vm's own loader, which reads files. @throws Error that names the expected
 * build
 */
function findNativeLibrary(): string {
  const root = dirname(createRequire(import.meta.url).resolve("isolated-vm/package.json"));
  const libc = process.platform === "linux" ? (existsSync("/etc/alpine-release") ? ".musl" : ".glibc") : "";
  const folder = join(root, "prebuilds", `${process.platform}-${process.arch}`);
  const path = join(folder, `isolated-vm.abi${process.versions.modules}${libc}.node`);
  if (existsSync(path)) return path;
  throw new Error(
    `typescript-ivm needs ${path}, the build of isolated-vm for this platform and Node ${process.version}, and did not find it. Reinstall the dependencies on this machine, or use typescript-process.`,
  );
}

/** A monitor whose watches start late. It reports zero for a run it never observed. */
function createLateMonitor(): Monitor {
  const monitor = createMonitor();
  return {
    isSupported: monitor.isSupported,
    watch(pid, limits, onLimit) {
      let watch: ReturnType<Monitor["watch"]> | null = null;
      const timer = setTimeout(() => {
        const cpuMs = limits.cpuMs === null ? null : Math.max(0, limits.cpuMs - FIRST_LOOK_MS);
        watch = monitor.watch(pid, { ...limits, cpuMs }, onLimit);
      }, FIRST_LOOK_MS);
      return {
        finish() {
          clearTimeout(timer);
          return watch?.finish() ?? { cpuMs: 0, peakMemoryBytes: 0 };
        },
      };
    },
    [Symbol.dispose]: () => monitor[Symbol.dispose](),
  };
}

interface RunOpenerParts {
  config: IvmConfig;
  pool: Pool;
  wall: Wall;
  logger: ModuleLogger;
}

function createRunOpener({ config, pool, wall, logger }: RunOpenerParts) {
  const usage = new WeakMap<Child, { runs: number; bytesAtFirst?: number }>();

  function isUsedUp(slot: Child): boolean {
    const used = usage.get(slot) ?? { runs: 0 };
    usage.set(slot, used);
    if (++used.runs >= config.maxRunsPerSlot) return true;
    if (used.runs % RUNS_PER_MEMORY_CHECK !== 1) return false;
    const bytes = readOwnBytes(slot.pid);
    used.bytesAtFirst ??= bytes;
    return bytes - used.bytesAtFirst > config.maxSlotGrowthMb * BYTES_PER_MB;
  }

  return (slot: Child, limits: RunLimits): OpenRun => {
    const { timeoutMs, cpuMs, memoryMb } = limits;
    const backstopMs = Math.min((timeoutMs ?? MAX_ENTRY_MS) + BACKSTOP_MARGIN_MS, MAX_ENTRY_MS);
    const { child, finish, release, left } = beginSlotRun(slot, { memoryMb, backstopMs });

    /** Removed before the slot is released, so that it ends no later run. */
    function liftCpuLimit(): void {
      try {
        wall.limitCpu(slot.pid, null, "until the next");
      } catch (error) {
        logger.warn({ err: error }, "The limit of a slot's CPU time could not be lifted; it is ended.");
        child.kill();
      }
    }

    return {
      child,
      async conclude(outcome) {
        const done = await finish();
        // A slot whose isolate was stopped by force may be damaged.
        if (done !== null && done.cause !== null) child.kill();
        if (cpuMs !== null && slot.exit === null) liftCpuLimit();
        release();
        return combine(outcome, done, limits);
      },
      left: left.then((how) => {
        if (how === "idle" && !isUsedUp(slot)) pool.giveBack(slot);
        else slot.kill();
        if (typeof how === "object") logger.warn({}, how.fault);
      }),
    };
  };
}

/**
 * The slot reports why its isolate stopped and its measurements; everything else comes from the supervisor's outcome.
 */
function combine(
  outcome: RunOutcome,
  done: DoneParams | null,
  { memoryMb, timeoutMs }: RunLimits,
): RunOutcome {
  const measured =
    done === null ? outcome : { ...outcome, cpuMs: done.cpuMs, peakMemoryBytes: done.peakMemoryBytes };
  const combined =
    outcome.reason !== "crashed" || !done?.cause
      ? measured
      : {
          ...measured,
          ...(done.cause === "memory_limit"
            ? judge({ kind: "memory_limit", limitMb: memoryMb })
            : judge({ kind: "timeout", limitMs: timeoutMs ?? MAX_ENTRY_MS })),
        };
  if (combined.reason !== "memory_limit") return combined;
  return { ...combined, peakMemoryBytes: Math.max(combined.peakMemoryBytes, memoryMb * BYTES_PER_MB) };
}
