/**
 * Assembles an environment's jail for the requested level: how children start, lock themselves, are verified from
 * outside and are limited. Fails closed: if the machine lacks something the level requires, the error names the
 * layer, the reason and the remedy.
 */
import type { IsolationLevel } from "#sdk";
import type { Program, StartProcess } from "../process/start-process.ts";
import { listEmptySets } from "./capabilities.ts";
import { openKernel } from "./kernel/syscalls.ts";
import type { SelfLock } from "./lock-self.ts";
import { type Absence, type JailProbe, probeJail } from "./probe.ts";
import { limitChild, limitCpu, type RunLimits, readIdleUsage } from "./rlimits.ts";
import { inspectNode, listRuntimeFiles } from "./runtime-files.ts";
import { OWN_PID } from "./seccomp/bpf.ts";
import { compilePolicy } from "./seccomp/compile.ts";
import { birthPolicy, selfLockPolicy } from "./seccomp/policies.ts";
import type { BirthJail } from "./spawner/birth-jail.ts";
import { type Spawner, startSpawner, type ZygoteProcess } from "./spawner/spawner.ts";
import { findThreadDifferences, type RequiredThreads, readMainThread } from "./verify.ts";

export interface JailOptions {
  level: Exclude<IsolationLevel, "development">;
  nodePath: string;
  /** Files, and folders with their contents, that a child reads while booting, beyond Node's own. */
  readable: readonly string[];
  /** Forbids executable memory; Node must then run with `--jitless`. */
  paranoid: boolean;
  /** Allows threads after the lock; see SelfLockOptions. */
  startsThreads?: boolean;
}

export interface Jail extends AsyncDisposable {
  readonly probe: JailProbe;
  readonly start: StartProcess;
  /** Null without the birth filter, because V8's heap cannot be forked then. */
  readonly startZygote: ((program: Program) => Promise<ZygoteProcess>) | null;
  readonly lock: SelfLock;
  readonly nodeFlags: readonly string[];
  /** Returns one sentence about a fault of a booted child, or null. */
  findFault(pid: number): string | null;
  /** Like `findFault`, for a zygote, which does not lock itself: its forks do. */
  findZygoteFault(pid: number): string | null;
  /** Limits a ready child for its next run. Throws if the child is gone. */
  limit(pid: number, limits: RunLimits): void;
  limitCpu(pid: number, cpuMs: number | null, scope: "for good" | "until the next"): void;
}

export class JailUnavailableError extends Error {
  override readonly name = "JailUnavailableError";
}

/** Reading the system's OpenSSL configuration would need a grant, and no child uses it. */
const NODE_FLAGS = ["--allow-ffi", "--openssl-config=/dev/null"] as const;

/**
 * Opens the jail; disposing it kills every child. A spawner that ended is replaced at the next start. Throws
 * JailUnavailableError.
 */
export async function openJail(
  options: JailOptions,
  probe: JailProbe = probeJail(),
  openSpawner: (jail: BirthJail) => Promise<Spawner> = startSpawner,
): Promise<Jail> {
  const missing = findMissing(options, probe);
  if (missing !== null || probe.architecture === null) {
    throw new JailUnavailableError(missing ?? `There is no jail for ${probe.platform}.`);
  }
  const runtime = await inspectNode(options.nodePath);
  const files = await listRuntimeFiles(runtime, options.readable);
  const birthFilter = compilePolicy(birthPolicy(OWN_PID), probe.architecture);
  const lockFilter = compilePolicy(selfLockPolicy(options), probe.architecture);
  const openAs = ({ seccomp, landlockAbi }: JailProbe) =>
    openSpawner({
      ...files,
      landlockAbi: typeof landlockAbi === "number" ? landlockAbi : 0,
      filter: seccomp === true ? birthFilter : null,
    });
  const { spawner, found } = await openFirst(options, probe, openAs);
  const spawners = keepSpawner(() => openAs(found), spawner);
  const hasFilters = found.seccomp === true;
  const landlockAbi = typeof found.landlockAbi === "number" ? found.landlockAbi : 0;
  const kernel = openKernel();
  const own = readMainThread("self").filters;
  const required = {
    filters: hasFilters && own !== null ? own + 2 : own,
    noNewPrivileges: true,
    emptySets: listEmptySets(),
  };
  // The self-lock's filter is installed on all threads or on none (SECCOMP_FILTER_FLAG_TSYNC). Checking every thread
  // of every child would slow the kernel's cleanup by milliseconds, so all threads are checked only in the first
  // child.
  let look: "all" | "main" = "all";

  return {
    probe: found,
    start: spawners.start,
    startZygote: hasFilters ? spawners.startZygote : null,
    lock: {
      parentPid: process.pid,
      landlockAbi,
      filter: hasFilters ? Buffer.from(lockFilter.bytes).toString("base64") : "",
      pidOffsets: lockFilter.pidOffsets,
    },
    nodeFlags: NODE_FLAGS,
    findFault(pid) {
      const fault = findFault(pid, required, look);
      if (fault === null) look = "main";
      return fault;
    },
    findZygoteFault: (pid) => findFault(pid, { ...required, filters: own === null ? null : own + 1 }, "all"),
    limit: (pid, limits) => limitChild(kernel, pid, limits, readIdleUsage(pid)),
    limitCpu: (pid, cpuMs, scope) => limitCpu(kernel, pid, cpuMs, scope),
    [Symbol.asyncDispose]: spawners[Symbol.asyncDispose],
  };
}

function findFault(pid: number, required: RequiredThreads, look: "all" | "main"): string | null {
  try {
    return findThreadDifferences(pid, required, look)[0] ?? null;
  } catch (error) {
    return `/proc/${pid} cannot be read: ${(error as Error).message}`;
  }
}

/**
 * Opens the first spawner and records what the machine really allows: a kernel that creates a filter or ruleset may
 * still refuse to install it. Level standard then continues without it, and its report says so.
 */
async function openFirst(
  { level, paranoid }: JailOptions,
  probe: JailProbe,
  open: (probe: JailProbe) => Promise<Spawner>,
): Promise<{ spawner: Spawner; found: JailProbe }> {
  try {
    return { spawner: await open(probe), found: probe };
  } catch (error) {
    const refused = { reason: (error as Error).message, fix: FIX_CONTAINER };
    const found: JailProbe = { ...probe, seccomp: refused, landlockAbi: refused };
    const spawner = level === "standard" && !paranoid ? await open(found).catch(() => null) : null;
    if (spawner !== null) return { spawner, found };
    throw new JailUnavailableError(describeAbsence(level, "layer 2 (birth jail)", refused));
  }
}

/** Replaces a spawner that ended, together with its children, at the next start. */
function keepSpawner(open: () => Promise<Spawner>, first: Spawner) {
  let current = first;
  let opening: Promise<void> | null = null;
  let isClosed = false;
  const retired: Promise<void>[] = [];

  async function replace(): Promise<void> {
    retired.push(current[Symbol.asyncDispose]());
    current = await open();
    if (isClosed) await current[Symbol.asyncDispose]();
  }

  async function living(): Promise<Spawner> {
    if (current.hasEnded && !isClosed) {
      opening ??= replace().finally(() => {
        opening = null;
      });
      await opening;
    }
    return current;
  }

  return {
    start: async (program: Program) => (await living()).start(program),
    startZygote: async (program: Program) => (await living()).startZygote(program),
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await opening?.catch(() => {});
      await Promise.all([...retired, current[Symbol.asyncDispose]()]);
    },
  };
}

const FIX_CONTAINER =
  "allow prctl(2), seccomp(2) and landlock_restrict_self(2) in the container's seccomp profile";

/** Returns a paragraph about each required mechanism that the machine lacks, or null. */
function findMissing({ level, paranoid }: JailOptions, probe: JailProbe): string | null {
  const required: [layer: string, found: true | number | Absence][] = [
    ["layer 4 (limits from outside, by node:ffi)", probe.ffi],
    ...(level === "strict"
      ? ([
          ["layers 2 and 3 (seccomp)", probe.seccomp],
          ["layers 2 and 3 (Landlock)", probe.landlockAbi],
        ] satisfies [string, true | number | Absence][])
      : []),
    ...(paranoid && level !== "strict"
      ? ([["layer 3 (seccomp), which paranoid relies on,", probe.seccomp]] satisfies [
          string,
          true | Absence,
        ][])
      : []),
  ];
  const missing = required.flatMap(([layer, found]) =>
    found === true || typeof found === "number" ? [] : [describeAbsence(level, layer, found)],
  );
  return missing.length === 0 ? null : missing.join(" ");
}

/** Returns the first two sentences of a JailUnavailableError; the caller adds which lower level would work. */
export function describeAbsence(
  level: JailOptions["level"],
  layer: string,
  { reason, fix }: Absence,
): string {
  return `Isolation level ${level} needs ${layer}, which cannot be had here: ${reason}. To have it: ${fix}.`;
}
