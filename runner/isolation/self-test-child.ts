/**
 * The child of the self-test: attacks the server by raw system calls, as code does that has taken over its engine. Started
 * like every child, with the same jail round it and the same lock; what it tries is handed to it. Entry file.
 */
import { readSync, writeSync } from "node:fs";
import { NR_EXIT_GROUP } from "../jail/kernel-headers.ts";
import { lockKernel, type SelfLock } from "../jail/lock-self.ts";
import { allocate, type KernelArgument, openKernel } from "../jail/syscalls.ts";

/** An argument of a system call: a number, a text, bytes, or the answer of the step before. */
export type StepArgument = number | { text: string } | { bytes: number[] } | "previous";

/** System calls one after another, up to the first that is refused. */
export interface Attack {
  name: string;
  /** Answer 0 means being the copy. */
  isFork?: true;
  steps: { call: number; args: StepArgument[] }[];
}

export interface SelfTestOrders {
  lock: SelfLock;
  /** Before the child has locked itself. */
  birth: Attack[];
  /** After it. */
  locked: Attack[];
  /** After its limits were put on. */
  limited: Attack[];
  /** Ends the child if all is well. */
  last: Attack;
}

/** The kernel's answers, by attack: `-errno`, or what it gave. One line per phase. */
export type SelfTestAnswers = Record<string, number>;

const orders = JSON.parse(process.argv[2] ?? "") as SelfTestOrders;
const kernel = openKernel();

function perform({ steps }: Attack): number {
  let answer = 0;
  for (const { call, args } of steps) {
    answer = kernel.syscall(call, ...args.map((argument) => toKernelArgument(argument, answer)));
    if (answer < 0) return answer;
  }
  return answer;
}

function toKernelArgument(argument: StepArgument, previous: number): KernelArgument {
  if (argument === "previous") return previous;
  if (typeof argument === "number") return argument;
  const bytes = "text" in argument ? Buffer.from(`${argument.text}\0`) : Buffer.from(argument.bytes);
  const memory = allocate(bytes.byteLength);
  memory.set(bytes);
  return memory;
}

function performAll(attacks: Attack[]): void {
  const answers: SelfTestAnswers = {};
  for (const attack of attacks) {
    answers[attack.name] = perform(attack);
    // In the copy that a fork has made.
    if (attack.isFork && answers[attack.name] === 0) kernel.syscall(NR_EXIT_GROUP, 0);
  }
  writeSync(1, `${JSON.stringify(answers)}\n`);
}

try {
  performAll(orders.birth);
  lockKernel(orders.lock);
  performAll(orders.locked);
  readSync(0, Buffer.alloc(1));
  performAll(orders.limited);
  performAll([orders.last]);
} catch (error) {
  writeSync(2, `${(error as Error).message}\n`);
  process.exitCode = 70;
}
