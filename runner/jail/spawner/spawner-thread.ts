/**
 * The thread that starts children. The first message is its jail: it jails itself, once and for good, before it takes an order: no_new_privs,
 * Landlock, capabilities and seccomp are per thread and inherited by what it starts, so its children are born inside. The rest of the
 * server stays as it was. Entry file of a worker; everything it needs is loaded before it is jailed.
 */
import { writeSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import { planDroppingCapabilities } from "../capabilities.ts";
import { NR_GETTID, PR_SET_NO_NEW_PRIVS } from "../kernel/kernel-headers.ts";
import { type Kernel, openKernel } from "../kernel/syscalls.ts";
import { restrictToFiles } from "../landlock.ts";
import { installFilter } from "../seccomp/install.ts";
import { type BirthJail, withGrants } from "./birth-jail.ts";
import {
  type ChildDescriptors,
  openNativeSpawn,
  type ProgramWithEnvironment,
  type StartProgram,
} from "./native-spawn.ts";

/** To the thread. */
export interface StartOrder {
  id: number;
  program: ProgramWithEnvironment;
  descriptors: ChildDescriptors;
}

/** From the thread. */
export type SpawnerEvent =
  | { event: "jailed"; threadId: number }
  | { event: "refused"; reason: string }
  | { event: "started"; id: number; pid: number }
  | { event: "failed"; id: number; reason: string };

function jailThread(kernel: Kernel, jail: BirthJail): void {
  // Read from /proc, which is out of reach a moment later.
  const dropCapabilities = jail.keepsCapabilities ? null : planDroppingCapabilities(kernel);
  const result = kernel.prctl(PR_SET_NO_NEW_PRIVS, 1);
  if (result < 0) throw new Error(`PR_SET_NO_NEW_PRIVS failed with errno ${-result}`);
  if (jail.landlockAbi > 0) {
    withGrants(jail, (grants) => restrictToFiles(kernel, jail.landlockAbi, grants, "caller"));
  }
  // Before the filter, which refuses it.
  dropCapabilities?.();
  if (jail.filter) installFilter(kernel, jail.filter, "thread");
}

function main(port: NonNullable<typeof parentPort>, jail: BirthJail): void {
  const report = (event: SpawnerEvent) => port.postMessage(event);
  try {
    const kernel = openKernel();
    const startProgram = openNativeSpawn();
    jailThread(kernel, jail);
    port.on("message", (order: StartOrder) => {
      const event = start(startProgram, order);
      try {
        // Ends this thread where the kernel refuses: what it starts next would be in that group as well.
        enterGroups(order.program.group?.leave);
      } finally {
        report(event);
      }
    });
    report({ event: "jailed", threadId: kernel.syscall(NR_GETTID) });
  } catch (error) {
    report({ event: "refused", reason: reasonOf(error) });
  }
}

/** Leaves this thread, and no other of the server, in the control group of the program. See BirthGroup. */
function start(startProgram: StartProgram, { id, program, descriptors }: StartOrder): SpawnerEvent {
  try {
    enterGroups(program.group?.enter);
    return { event: "started", id, pid: startProgram(program, descriptors) };
  } catch (error) {
    return { event: "failed", id, reason: reasonOf(error) };
  }
}

/** Throws when the kernel refuses. */
function enterGroups(groups: readonly number[] = []): void {
  for (const group of groups) writeSync(group, "0");
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const port = parentPort;
port?.once("message", (jail: BirthJail) => main(port, jail));
