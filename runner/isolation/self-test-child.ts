/**
 * The child of the self-test: attacks the server by raw system calls, as code does that has taken over its engine. Started
 * like every child, with the same jail round it and the same lock; what it tries is handed to it. Entry file.
 */
import { readSync, writeSync } from "node:fs";
import { NR_EXIT_GROUP } from "../jail/kernel-headers.ts";
import { lockKernel } from "../jail/lock-self.ts";
import { allocate, type KernelArgument, openKernel } from "../jail/syscalls.ts";
import type { Attack, SelfTestAnswers, SelfTestOrders, StepArgument } from "./self-test-orders.ts";

/** Kernels before 5.5 take a limit of 0 s for one of 1 s. */
const MAX_SPIN_MS = 3000;

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
    const answer = perform(attack);
    // In the copy that a fork has made.
    if (attack.isFork && answer === 0) kernel.syscall(NR_EXIT_GROUP, 0);
    answers[attack.name] = answer;
  }
  writeSync(1, `${JSON.stringify(answers)}\n`);
}

try {
  if (orders.first !== null) performAll([orders.first]);
  performAll(orders.birth);
  lockKernel(orders.lock);
  performAll(orders.locked);
  readSync(0, Buffer.alloc(1));
  if (orders.spin) for (const until = performance.now() + MAX_SPIN_MS; performance.now() < until; );
  performAll(orders.limited);
  performAll([orders.last]);
} catch (error) {
  writeSync(2, `${(error as Error).message}\n`);
  process.exitCode = 70;
}
