/**
 * System calls tried from inside the jail, to see that it refuses them. The host says what to try, and which answers are
 * refusals. Bundled into children: Node only, no zod.
 */
import { Buffer } from "node:buffer";
import { NR_EXIT_GROUP } from "./kernel/kernel-headers.ts";
import { allocate, type Kernel, type KernelArgument } from "./kernel/syscalls.ts";

/** An argument of a system call: a number, a text, bytes, or the answer of the step before. */
export type StepArgument = number | { text: string } | { bytes: number[] } | "previous";

/** System calls one after another, up to the first that is refused. */
export interface Attack {
  /** Answer 0 means being the copy. */
  isFork?: true;
  steps: { call: number; args: StepArgument[] }[];
}

/** The kernel's answer to each, in their order: `-errno`, or what it gave. */
export function performAttacks(kernel: Kernel, attacks: readonly Attack[]): number[] {
  return attacks.map((attack) => {
    const answer = perform(kernel, attack);
    // In the copy that a fork has made.
    if (attack.isFork && answer === 0) kernel.syscall(NR_EXIT_GROUP, 0);
    return answer;
  });
}

function perform(kernel: Kernel, { steps }: Attack): number {
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
