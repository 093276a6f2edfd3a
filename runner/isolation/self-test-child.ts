/**
 * The self-test's child: attacks the server with raw system calls, like code that has taken over its engine. Started
 * like every child, with the same jail and lock; receives its attacks on standard input. Entry file.
 */
import { readSync, writeSync } from "node:fs";
import { type Attack, performAttacks } from "../jail/attack.ts";
import { openKernel } from "../jail/kernel/syscalls.ts";
import { lockKernel } from "../jail/lock-self.ts";
import type { SelfTestOrders } from "./self-test-orders.ts";

/** Kernels before 5.5 treat a limit of 0 s as 1 s. */
const MAX_SPIN_MS = 3000;

const orders = JSON.parse(process.argv[2] ?? "") as SelfTestOrders;
const kernel = openKernel();

function performAll(attacks: readonly Attack[]): void {
  writeSync(1, `${JSON.stringify(performAttacks(kernel, attacks))}\n`);
}

try {
  if (orders.first !== null) performAll([orders.first]);
  performAll(orders.birth);
  lockKernel(orders.lock);
  performAll(orders.locked);
  readSync(0, Buffer.alloc(1));
  if (orders.spin) for (const until = performance.now() + MAX_SPIN_MS; performance.now() < until; );
  if (orders.hoardBytes > 0) {
    const hoard = Buffer.alloc(orders.hoardBytes, 1);
    // Uses the memory, so that it is not collected.
    while (readSync(0, hoard, 0, 1, null) > 0);
  }
  performAll(orders.limited);
  performAll([orders.last]);
} catch (error) {
  writeSync(2, `${(error as Error).message}\n`);
  process.exitCode = 70;
}
