/**
 * Starts a program with three pipes and an environment of one variable, and reports its exit. This implementation
 * runs on the server's main thread; a jail implements the same interface.
 */
import { writeFileSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { CHILD_ENVIRONMENT } from "./verify-child.ts";

/**
 * Descriptors, open for writing, that start a process inside a control group. A thread that writes `0` into every
 * file of `enter` joins the group with everything it starts; `leave` moves the thread back. The kernel moves a thread
 * that moves itself at once; to move another, it waits until no process on the machine starts or ends, 5 to 25 ms.
 */
export interface BirthGroup {
  readonly enter: readonly number[];
  readonly leave: readonly number[];
}

export interface Program {
  path: string;
  args: string[];
  cwd: string;
  /** Control group in which the process starts. Only in a jail. */
  group?: BirthGroup | null;
  /** Descriptor to use as standard input instead of a pipe. Only in a jail. */
  stdin?: number;
}

export interface ProcessExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface StartedProcess {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when the process has ended and was reaped. Never rejects. */
  readonly exited: Promise<ProcessExit>;
  kill(): void;
}

export type StartProcess = (program: Program) => Promise<StartedProcess>;

/**
 * Makes the kernel kill this process and its forks before the server when memory runs out, which loses one run
 * instead of all. Any user may raise the score of their own processes. Does nothing without /proc or after the exit.
 */
export function endFirstWithoutMemory(pid: number | undefined): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, "1000");
  } catch {}
}

export const startProcess: StartProcess = async (program) => {
  if (program.group) throw new Error(`${program.path} can be born in a control group in a jail only`);
  // Imported on demand, because jailed children do not need it.
  const { execa } = await import("execa");
  const subprocess = execa(program.path, program.args, {
    cwd: program.cwd,
    env: CHILD_ENVIRONMENT,
    extendEnv: false,
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
    buffer: false,
    reject: false,
    cleanup: false,
    // Starts a new session: Ctrl-C in the server's terminal must not end runs that the server lets finish.
    detached: true,
    forceKillAfterDelay: false,
    killSignal: "SIGKILL",
  });
  const { pid, stdin, stdout, stderr } = subprocess;
  if (pid === undefined) {
    const { originalMessage } = await subprocess;
    throw new Error(`${program.path} could not be started: ${originalMessage ?? "no reason given"}`);
  }
  endFirstWithoutMemory(pid);
  let isReaped = false;
  const exited = new Promise<ProcessExit>((resolve) => {
    subprocess.nodeChildProcess.once("exit", (code, signal) => {
      isReaped = true;
      resolve({ code, signal });
    });
  });
  return {
    pid,
    stdin,
    stdout,
    stderr,
    exited,
    kill() {
      if (!isReaped) subprocess.kill("SIGKILL");
    },
  };
};
