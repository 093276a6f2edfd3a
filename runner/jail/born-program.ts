/** What a child of `giveBirth` calls to become a program: with three descriptors, an environment of its own, and nothing else. */
import { readFileSync } from "node:fs";
import { readStatusField } from "../proc-status.ts";
import { type BirthCall, type GiveBirth, openBirth } from "./birth-code.ts";
import {
  CLOSE_RANGE_CLOEXEC,
  NR_CHDIR,
  NR_CLOSE_RANGE,
  NR_DUP3,
  NR_EXECVE,
  NR_RT_SIGACTION,
  NR_RT_SIGPROCMASK,
  NR_SETSID,
  SIG_SETMASK,
} from "./kernel-headers.ts";
import type { ChildDescriptors, ProgramWithEnvironment } from "./native-spawn.ts";
import { allocate, allocateText, type Kernel } from "./syscalls.ts";

/** struct sigaction of the kernel: handler, flags, restorer, mask. All zero is the default. */
const SIGACTION_BYTES = 32;
const SIGNAL_SET_BYTES = 8;

/** `first` and `last`: calls before and after the child has its session, descriptors and folder. Answers the pid, or throws. */
export type StartBorn = (
  program: ProgramWithEnvironment,
  descriptors: ChildDescriptors,
  calls: { first?: readonly BirthCall[]; last?: readonly BirthCall[] },
) => number;

/** Throws where memory cannot be made executable. */
export function openBornPrograms(kernel: Kernel): StartBorn {
  const giveBirth: GiveBirth = openBirth(kernel);
  return (program, descriptors, { first = [], last = [] }) => {
    // Whatever a library opened without close-on-exec must not reach a child.
    const closed = kernel.syscall(NR_CLOSE_RANGE, 3, 0xffff_ffff, CLOSE_RANGE_CLOEXEC);
    if (closed < 0) throw new Error(`close_range failed with errno ${-closed}`);
    const memory = layOutProgram(kernel, program);
    return giveBirth([
      ...first,
      ...takeSession(),
      ...descriptors.map((from, to) => ({ name: "dup3", call: NR_DUP3, args: [from, to, 0] })),
      { name: `chdir to ${program.cwd}`, call: NR_CHDIR, args: [memory.cwd] },
      ...last,
      {
        name: `execve of ${program.path}`,
        call: NR_EXECVE,
        args: [memory.path, memory.argv, memory.envp],
        keeps: memory.keeps,
      },
    ]);
  };
}

/** A session of its own, so that Ctrl-C does not reach it, and no signal of this process blocked or ignored. */
function takeSession(): BirthCall[] {
  const defaultAction = allocate(SIGACTION_BYTES);
  const none = allocate(SIGNAL_SET_BYTES);
  const calls: BirthCall[] = [{ name: "setsid", call: NR_SETSID, args: [] }];
  // Ignored ones would stay so in the program, and a handler of this process would run in the child, on memory that is not its own.
  for (const signal of listChanged()) {
    const args = [signal, defaultAction, null, SIGNAL_SET_BYTES];
    calls.push({ name: "rt_sigaction", call: NR_RT_SIGACTION, args });
  }
  const args = [SIG_SETMASK, none, null, SIGNAL_SET_BYTES];
  calls.push({ name: "rt_sigprocmask", call: NR_RT_SIGPROCMASK, args });
  return calls;
}

/** Numbers of the signals that are not at their default in this process. */
function listChanged(): number[] {
  const status = readFileSync("/proc/self/status", "latin1");
  const changed = readMask(status, "SigIgn") | readMask(status, "SigCgt");
  const signals: number[] = [];
  for (let signal = 1, left = changed; left > 0n; signal += 1, left >>= 1n) {
    if (left & 1n) signals.push(signal);
  }
  return signals;
}

/** A set of signals: bit 0 is signal 1. */
function readMask(status: string, name: string): bigint {
  const mask = readStatusField(status, name);
  if (mask === null) throw new Error(`/proc/self/status lacks ${name}`);
  return BigInt(`0x${mask}`);
}

/** Path, arguments and environment as the kernel reads them. */
function layOutProgram(kernel: Kernel, { path, args, cwd, env }: ProgramWithEnvironment) {
  const texts = (list: readonly string[]) => {
    const array = allocate((list.length + 1) * 8);
    const view = new DataView(array.buffer);
    const kept = list.map(allocateText);
    kept.forEach((one, index) => {
      view.setBigUint64(index * 8, kernel.addressOf(one, array), true);
    });
    return { array, kept };
  };
  const argv = texts([path, ...args]);
  const envp = texts(Object.entries(env).map(([name, value]) => `${name}=${value}`));
  return {
    path: allocateText(path),
    cwd: allocateText(cwd),
    argv: argv.array,
    envp: envp.array,
    keeps: [argv.kept, envp.kept],
  };
}
