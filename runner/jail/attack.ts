/**
 * Tries system calls from inside the jail. The host chooses them and decides which results count as refused. Bundled
 * into children: Node only, no zod.
 */
import { Buffer } from "node:buffer";
import { NR_EXIT_GROUP } from "./kernel/kernel-headers.ts";
import { allocate, type Kernel, type KernelArgument } from "./kernel/syscalls.ts";

export type StepArgument = number | { text: string } | { bytes: number[] } | "previous";

/** Consecutive system calls; stops after the first refused one. */
export interface Attack {
  /** True if result 0 means that this process is the forked copy. */
  isFork?: true;
  steps: { call: number; args: StepArgument[] }[];
}

export function performAttacks(kernel: Kernel, attacks: readonly Attack[]): number[] {
  return attacks.map((attack) => {
    const answer = perform(kernel, attack);
    // The forked copy must end here.
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
