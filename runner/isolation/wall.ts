/**
 * An environment's isolation (its "wall"): the jail that its level requires, tested by attacks from inside, and
 * control groups where available. Level `development` requires nothing of the kernel. Fails closed: an error names
 * the missing layer and what to do.
 */
import type { IsolationLevel } from "#sdk";
import type { BootAttacks } from "../child/boot-options.ts";
import type { Attack } from "../jail/attack.ts";
import type { CgroupsAbsent } from "../jail/cgroups/model.ts";
import { openCgroups } from "../jail/cgroups/open.ts";
import { createRunGroups, type Placement, type RunGroups } from "../jail/cgroups/run-groups.ts";
import { describeAbsence, type Jail, JailUnavailableError, openJail } from "../jail/jail.ts";
import type { SelfLock } from "../jail/lock-self.ts";
import type { JailProbe } from "../jail/probe.ts";
import { findLimits } from "../jail/rlimits.ts";
import { MAX_THREADS } from "../process/monitor.ts";
import { type StartProcess, startProcess } from "../process/start-process.ts";
import { openCanary } from "../process/temporary.ts";
import type { BootedParams } from "../wire/protocol.ts";
import { type NamedAttack, planAttacks } from "./attacks.ts";
import { DOCTOR, judge, runSelfTest, SELF_TEST, type SelfTest, type SelfTestOptions } from "./self-test.ts";

export interface WallOptions {
  level: IsolationLevel;
  nodePath: string;
  /** Files, and folders with their contents, that a child reads while booting. */
  readable: readonly string[];
  cwd: string;
  /**
   * `apart` tests everything in separate children before any other starts. `in each child` tests every child before
   * it gets a script: quicker for a single child, but it leaves out attacks that would end it.
   */
  test?: "apart" | "in each child";
  /** Forbids executable memory; Node must then run with `--jitless`. */
  paranoid: boolean;
  /**
   * True if children start threads after locking themselves. The monitor and a control group limit their number then.
   */
  startsThreads?: boolean;
  /** True if clients reach the server over the network, so that level development is no alternative. */
  isExposed?: boolean;
}

export interface Wall extends AsyncDisposable {
  readonly level: IsolationLevel;
  readonly jail: { probe: JailProbe; readonly test: SelfTest; groups: RunGroups | CgroupsAbsent } | null;
  readonly start: StartProcess;
  readonly startZygote: Jail["startZygote"];
  readonly lock: SelfLock | null;
  /** Attacks for BootOptions; null if a child tries none. */
  readonly attacks: BootAttacks | null;
  readonly nodeFlags: readonly string[];
  /**
   * Verifies a booted child and limits its memory to `memoryBytes` more than it uses. Returns part of a sentence
   * about a fault, or null. `answers` are the results of `attacks`.
   */
  admit(pid: number, memoryBytes: number, answers?: BootedParams["answers"]): string | null;
  /** Like `admit`, for a booted zygote. */
  findZygoteFault(pid: number): string | null;
  /**
   * Reserves a control group, limited to `memoryBytes` in total, for a child about to start. Returns null without
   * groups.
   */
  place(memoryBytes: number): Promise<Placement> | null;
  /** See jail/rlimits.ts. Does nothing at level `development`. */
  limitCpu(pid: number, cpuMs: number | null, scope: "for good" | "until the next"): void;
}

export interface WallParts {
  openJail: typeof openJail;
  openCgroups: typeof openCgroups;
}

/**
 * Also applies on machines with more processors: in groups, all runs together weigh as much as the server, so that it
 * stays responsive.
 */
const MAX_GROUP_CPU_MILLIS = 2000;

/**
 * Throws JailUnavailableError with the layer, the reason, the remedy and a lower level that works. Disposing kills
 * every child.
 */
export async function openWall(
  options: WallOptions,
  parts: WallParts = { openJail, openCgroups },
): Promise<Wall> {
  if (options.level === "development") return openNoWall(options);
  try {
    return await openKernelWall(options, options.level, parts);
  } catch (error) {
    if (!(error instanceof JailUnavailableError)) throw error;
    throw new JailUnavailableError(`${error.message} ${await describeWayOut(options, parts)}`, {
      cause: error,
    });
  }
}

async function openKernelWall(
  { level: _, ...options }: WallOptions,
  level: Exclude<IsolationLevel, "development">,
  parts: WallParts,
): Promise<Wall> {
  const { nodePath, cwd } = options;
  const readable = [...new Set([...options.readable, SELF_TEST])];
  await using undo = new AsyncDisposableStack();
  const cgroups = parts.openCgroups();
  const groups = cgroups.version === 0 ? cgroups : undo.use(createRunGroups(cgroups));
  const canary = options.test === "in each child" ? undo.use(await openCanary()) : null;
  const jail = undo.use(await parts.openJail({ ...options, readable, level }));
  const tested =
    canary === null
      ? await testApart(level, { jail, nodePath, cwd })
      : testInEachChild(level, jail, canary.path);
  const owned = undo.move();
  return {
    level,
    jail: {
      probe: jail.probe,
      groups,
      get test() {
        return tested.read();
      },
    },
    start: jail.start,
    startZygote: jail.startZygote,
    lock: jail.lock,
    attacks: tested.attacks,
    nodeFlags: jail.nodeFlags,
    admit: (pid, memoryBytes, answers) => admit(jail, pid, memoryBytes) ?? tested.judge(pid, answers),
    findZygoteFault: jail.findZygoteFault,
    place: (memoryBytes) => (groups.version === 0 ? null : groups.reserve(groupLimits(memoryBytes))),
    limitCpu: jail.limitCpu,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const groupLimits = (memoryBytes: number) => ({
  memoryBytes,
  maxThreads: MAX_THREADS,
  cpuMillis: MAX_GROUP_CPU_MILLIS,
});

interface Tested {
  attacks: BootAttacks | null;
  /** Returns part of a sentence about the fault of a child that tried the attacks, or null. */
  judge(pid: number, answers: BootedParams["answers"]): string | null;
  /** Throws if no child has tried the attacks yet. */
  read(): SelfTest;
}

async function testApart(level: "strict" | "standard", options: SelfTestOptions): Promise<Tested> {
  const test = await runSelfTest(options).catch((error: Error) => {
    throw new JailUnavailableError(
      describeAbsence(level, "a child that can be tested", { reason: error.message, fix: FIX_TEST }),
    );
  });
  requireFindings(level, test);
  return { attacks: null, judge: () => null, read: () => test };
}

/** No server listens there: the result alone shows that a socket was refused. */
const ANY_PORT = 9;

function testInEachChild(level: "strict" | "standard", jail: Jail, file: string): Tested {
  const { architecture } = jail.probe;
  if (architecture === null) throw new JailUnavailableError(`There is no jail for ${process.arch}.`);
  const { birth, locked } = planAttacks(architecture, { file, port: ANY_PORT });
  let found: SelfTest | null = null;
  const withoutName = ({ name: _, ...attack }: NamedAttack): Attack => attack;
  return {
    attacks: { birth: birth.map(withoutName), locked: locked.map(withoutName) },
    judge(pid, answers) {
      if (answers?.birth.length !== birth.length || answers.locked.length !== locked.length) {
        return "it did not try what it was told to try";
      }
      const seen: SelfTest = {
        birth: judge(birth, answers.birth, true),
        locked: judge(locked, answers.locked, true),
        limited: findLimits(pid),
      };
      found = seen;
      const needed = level === "strict" ? [seen.birth, seen.locked, seen.limited] : [seen.limited];
      return needed.find(({ holds }) => !holds)?.observed ?? null;
    },
    read() {
      if (found === null) throw new Error("No child has been tested yet.");
      return found;
    },
  };
}

const FIX_TEST = `run \`${DOCTOR}\` where the server runs, which shows what the kernel answers`;

/** Advises what to do after a level was rejected. Recommends a lower level only after trying it. */
async function describeWayOut(options: WallOptions, parts: WallParts): Promise<string> {
  if (options.level === "strict" && (await stands(options, parts))) {
    return "To run without this layer: CYRNEL_ISOLATION=standard.";
  }
  if (options.isExposed) return "No lower level can stand here that a server beyond loopback may have.";
  const without = options.paranoid ? ", with the setting `paranoid` turned off" : "";
  return `To run without limits of the kernel, on loopback only${without}: CYRNEL_ISOLATION=development.`;
}

async function stands(options: WallOptions, parts: WallParts): Promise<boolean> {
  try {
    await using _ = await openKernelWall(options, "standard", parts);
    return true;
  } catch {
    return false;
  }
}

function openNoWall({ level, paranoid }: WallOptions): Wall {
  if (paranoid) {
    throw new JailUnavailableError(
      "The setting `paranoid` needs isolation level strict: at level development nothing keeps memory from becoming executable. Set CYRNEL_ISOLATION=strict, or turn `paranoid` off.",
    );
  }
  return {
    level,
    jail: null,
    start: startProcess,
    startZygote: null,
    lock: null,
    attacks: null,
    nodeFlags: [],
    admit: () => null,
    findZygoteFault: () => null,
    place: () => null,
    limitCpu() {},
    async [Symbol.asyncDispose]() {},
  };
}

function requireFindings(level: "strict" | "standard", { birth, locked, limited }: SelfTest): void {
  const required = [
    ...(level === "strict"
      ? [
          { layer: "layer 2 (birth jail)", finding: birth },
          { layer: "layer 3 (self-lock)", finding: locked },
        ]
      : []),
    {
      layer: "layer 4 (limits from outside)",
      finding: {
        ...limited,
        holds: limited.holds && (level === "standard" || limited.memoryBy === "kernel"),
      },
    },
  ];
  const failed = required.filter(({ finding }) => !finding.holds);
  if (failed.length === 0) return;
  const layers = failed.map(({ layer }) => layer).join(" and ");
  const reason = `the self-test says: ${failed.map(({ finding }) => finding.observed).join("; and: ")}`;
  throw new JailUnavailableError(describeAbsence(level, layers, { reason, fix: FIX_TEST }));
}

function admit(jail: Jail, pid: number, memoryBytes: number): string | null {
  const fault = jail.findFault(pid);
  if (fault !== null) return fault;
  try {
    jail.limit(pid, { cpuMs: null, memoryBytes });
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}
