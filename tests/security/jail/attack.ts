/**
 * What a native attack on the jail is: raw system calls, and what must come of them without the jail and in each part of
 * it. Shared by the attacker child, which performs attacks, and the tests, which judge them.
 */

import { allocate, type Kernel } from "#runner/jail/kernel/syscalls.ts";
import { type Architecture, type SyscallName, syscallNumber } from "#runner/jail/seccomp/syscall-numbers.ts";

/** Targets of an attack; the driver creates them, all harmless. */
export interface Targets {
  /** A readable file outside the jail. */
  canary: string;
  /** A directory everyone may write to. */
  directory: string;
  tcpPort: number;
  udpPort: number;
  unixPath: string;
  /** Without the leading NUL. */
  abstractName: string;
  /** The server. */
  parentPid: number;
  /** The thread of the server that starts children. */
  spawnerThread: number;
  /** Another child of the same spawner. */
  siblingPid: number;
  /** A program that exists everywhere. */
  program: string;
}

/** The kernel's answer: a value, or `-errno`. */
export type Answer = number;

export const AT_FDCWD = -100;

// Answers: errno of asm-generic/errno-base.h and errno.h, negated.
export const EPERM = -1;
export const ENOENT = -2;
export const EBADF = -9;
export const EACCES = -13;
export const EFAULT = -14;
export const EINVAL = -22;
export const ENOTTY = -25;
export const ENOSYS = -38;

/** What must come of an attack. `control`: the answers that show that without the jail it is more than refused. */
export interface Attack {
  run(calls: Calls, targets: Targets): Answer;
  /** Without any jail: a value, or one of these errors, which come only after the permission to try. */
  control: "succeeds" | readonly number[];
  /** What a kernel answers the control that was built without what is attacked. */
  controlMayLack?: readonly number[];
  /** What the control answers on a machine that has nothing to attack here; the attack is skipped there. */
  absentWhen?: string;
  /** The control needs root: refused for others already. */
  controlNeedsRoot?: true;
  /** In the birth jail alone; `open` where it only falls to the lock. */
  birth: readonly number[] | "killed" | "open";
  /** After the self-lock. */
  locked: readonly number[] | "killed";
  only?: Architecture;
}

/** System calls by name, with texts and structures as arguments. */
export interface Calls {
  call(
    name: SyscallName,
    ...args: Parameters<Kernel["syscall"]> extends [number, ...infer R] ? R : never
  ): Answer;
  raw(number: number, ...args: number[]): Answer;
  text(value: string): Uint8Array;
  /** Replaces libc's getpid by machine code and calls it. */
  runMachineCode(code: readonly number[]): Answer;
}

export function openCalls(kernel: Kernel, runMachineCode: Calls["runMachineCode"]): Calls {
  const architecture: Architecture = process.arch === "arm64" ? "aarch64" : "x86_64";
  return {
    call(name, ...args) {
      const number = syscallNumber(name, architecture);
      return number === null ? ENOSYS : kernel.syscall(number, ...args);
    },
    raw: (number, ...args) => kernel.syscall(number, ...args),
    text(value) {
      const bytes = Buffer.from(`${value}\0`);
      const memory = allocate(bytes.byteLength);
      memory.set(bytes);
      return memory;
    },
    runMachineCode,
  };
}

/** Refused by the filter; where Landlock answers first it says EACCES. */
export const refused = [EPERM, EACCES] as const;

/** An attack that the birth filter and the lock both refuse. */
export function refusedFromBirth(
  run: Attack["run"],
  control: Attack["control"] = "succeeds",
  more: Partial<Attack> = {},
): Attack {
  return { run, control, birth: refused, locked: refused, ...more };
}

/** An attack that only the lock refuses: Node needs the call to start. */
export function refusedByLock(
  run: Attack["run"],
  control: Attack["control"] = "succeeds",
  more: Partial<Attack> = {},
): Attack {
  return { run, control, birth: "open", locked: refused, ...more };
}
