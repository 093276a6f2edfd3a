/**
 * Locks a child after it has booted and before it gets a script: afterwards neither JavaScript nor native code can
 * open, name or reach anything new. Bundled into the child: Node only; the host builds the policy.
 */
import { Buffer } from "node:buffer";
import {
  NR_CLOSE_RANGE,
  NR_GETPPID,
  PR_SET_NO_NEW_PRIVS,
  PR_SET_PDEATHSIG,
  SIGKILL,
} from "./kernel/kernel-headers.ts";
import { type Kernel, openKernel } from "./kernel/syscalls.ts";
import { restrictToFiles } from "./landlock.ts";
import { installFilter } from "./seccomp/install.ts";

/** Lock settings, decided by the host and passed on the command line. Contain no secret. */
export interface SelfLock {
  parentPid: number;
  /** 0 to skip Landlock. */
  landlockAbi: number;
  /** The seccomp program in base64; empty to skip it. */
  filter: string;
  pidOffsets: number[];
}

/** RLIMIT_NOFILE of a child: Node itself uses far fewer descriptors. */
const MAX_DESCRIPTORS = 64;

/**
 * Layer 3. Throws if a step fails: then the child must exit without reporting ready. Afterwards the process dies with
 * the thread that started it.
 */
export function lockKernel(lock: SelfLock, kernel: Kernel = openKernel()): void {
  must("PR_SET_PDEATHSIG", kernel.prctl(PR_SET_PDEATHSIG, SIGKILL));
  const parentPid = kernel.syscall(NR_GETPPID);
  if (parentPid !== lock.parentPid) {
    throw new Error(`parent is ${parentPid}, expected ${lock.parentPid}: it died before it could be watched`);
  }
  // The server passes on no descriptors and checks each child from outside; this covers any it could not see.
  kernel.syscall(NR_CLOSE_RANGE, MAX_DESCRIPTORS, 0xffff_ffff, 0);
  must("PR_SET_NO_NEW_PRIVS", kernel.prctl(PR_SET_NO_NEW_PRIVS, 1));
  if (lock.landlockAbi > 0) restrictToFiles(kernel, lock.landlockAbi, []);
  if (lock.filter !== "") {
    const bytes = Buffer.from(lock.filter, "base64");
    installFilter(kernel, { bytes, pidOffsets: lock.pidOffsets }, "process");
  }
}

function must(step: string, result: number): void {
  if (result < 0) throw new Error(`${step} failed with errno ${-result}`);
}
