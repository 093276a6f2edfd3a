/**
 * What the operating system puts round the children of one environment, at the level that was asked for: opened, tried out
 * once, and kept for as long as the environment lives. Fails closed: never a lower level than the one asked for.
 */
import type { IsolationLevel } from "#sdk";
import { describeAbsence, type Jail, JailUnavailableError, openJail } from "../jail/jail.ts";
import type { SelfLock } from "../jail/lock-self.ts";
import type { JailProbe } from "../jail/probe.ts";
import { type StartProcess, startProcess } from "../start-process.ts";
import { runSelfTest, type SelfTest } from "./self-test.ts";

export interface WallOptions {
  level: IsolationLevel;
  nodePath: string;
  /** Files, and folders with all that is in them, that a child reads while it boots. */
  readable: readonly string[];
  /** An empty directory. */
  cwd: string;
  /** No memory of a child may become executable; its Node must be started with `--jitless`. */
  paranoid: boolean;
}

export interface Wall extends AsyncDisposable {
  readonly level: IsolationLevel;
  /** What the machine offers and what was observed; null at level `development`, which asks nothing of the kernel. */
  readonly jail: { probe: JailProbe; test: SelfTest } | null;
  readonly start: StartProcess;
  /** For BootOptions. */
  readonly lock: SelfLock | null;
  readonly nodeFlags: readonly string[];
  /**
   * Looks at a child that says it is ready and limits its memory to `memoryBytes` more than it has. Answers what is wrong
   * with it, as half a sentence; null: nothing.
   */
  admit(pid: number, memoryBytes: number): string | null;
  /** See jail/rlimits.ts. Does nothing at level `development`. */
  limitCpu(pid: number, cpuMs: number | null, scope: "for good" | "until the next"): void;
}

/** Throws JailUnavailableError with the layer, the reason, the remedy and the lower level. Disposing ends every child. */
export async function openWall(options: WallOptions, open = openJail): Promise<Wall> {
  const { level, nodePath, cwd } = options;
  if (level === "development") return openNoWall(options);
  await using undo = new AsyncDisposableStack();
  const jail = undo.use(await open({ ...options, level }));
  const test = await runSelfTest({ jail, nodePath, cwd }).catch((error: Error) => {
    throw new JailUnavailableError(
      describeAbsence(level, "a child that can be tested", { reason: error.message, fix: FIX_TEST }),
    );
  });
  requireFindings(level, test);
  const owned = undo.move();
  return {
    level,
    jail: { probe: jail.probe, test },
    start: jail.start,
    lock: jail.lock,
    nodeFlags: jail.nodeFlags,
    admit: (pid, memoryBytes) => admit(jail, pid, memoryBytes),
    limitCpu: jail.limitCpu,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const FIX_TEST = "run `npm run build`, then `npm run doctor`, which shows what the kernel answers";

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
    lock: null,
    nodeFlags: [],
    admit: () => null,
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
    { layer: "layer 4 (limits from outside)", finding: limited },
  ];
  const failed = required.find(({ finding }) => !finding.holds);
  if (failed === undefined) return;
  const reason = `the self-test says: ${failed.finding.observed}`;
  throw new JailUnavailableError(describeAbsence(level, failed.layer, { reason, fix: FIX_TEST }));
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
