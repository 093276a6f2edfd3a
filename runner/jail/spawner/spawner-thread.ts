/**
 * The thread that starts children. Its first message is its jail: it jails itself permanently before it takes orders.
 * no_new_privs, Landlock, capabilities and seccomp are per thread and inherited, so its children are born inside,
 * while the rest of the server is unchanged. Entry file of a worker; it loads everything before it is jailed.
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

export interface StartOrder {
  id: number;
  program: ProgramWithEnvironment;
  descriptors: ChildDescriptors;
}

export type SpawnerEvent =
  | { event: "jailed"; threadId: number }
  | { event: "refused"; reason: string }
  | { event: "started"; id: number; pid: number }
  | { event: "failed"; id: number; reason: string };

function jailThread(kernel: Kernel, jail: BirthJail): void {
  // Reads /proc now, because the jail is about to close it.
  const dropCapabilities = jail.keepsCapabilities ? null : planDroppingCapabilities(kernel);
  const result = kernel.prctl(PR_SET_NO_NEW_PRIVS, 1);
  if (result < 0) throw new Error(`PR_SET_NO_NEW_PRIVS failed with errno ${-result}`);
  if (jail.landlockAbi > 0) {
    withGrants(jail, (grants) => restrictToFiles(kernel, jail.landlockAbi, grants, "caller"));
  }
  // Must precede the filter, which refuses this call.
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
        // Throws, which ends this thread, if the kernel refuses: its next child would be born in that group too.
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

/** Moves only this thread into the program's control group while it starts the program. See BirthGroup. */
function start(startProgram: StartProgram, { id, program, descriptors }: StartOrder): SpawnerEvent {
  try {
    enterGroups(program.group?.enter);
    return { event: "started", id, pid: startProgram(program, descriptors) };
  } catch (error) {
    return { event: "failed", id, reason: reasonOf(error) };
  }
}

function enterGroups(groups: readonly number[] = []): void {
  for (const group of groups) writeSync(group, "0");
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const port = parentPort;
port?.once("message", (jail: BirthJail) => main(port, jail));
