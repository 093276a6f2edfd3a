/**
 * What a child does to itself after it has booted and before it is given a script: nothing new can be opened, named or
 * reached afterwards, by JavaScript or by native code. Bundled into the child: Node only, no policy is built here.
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

/** What the host decided, handed to the child on its command line. No secret. */
export interface SelfLock {
  /** The process that started the child. */
  parentPid: number;
  /** Of this kernel; 0 leaves Landlock out. */
  landlockAbi: number;
  /** The seccomp program, base64; empty leaves it out. */
  filter: string;
  pidOffsets: number[];
}

/** RLIMIT_NOFILE of a child: Node's own descriptors stay far below. */
const MAX_DESCRIPTORS = 64;

/**
 * Layer 3. Throws when a step fails: the child must end without having said that it is ready. Afterwards the process dies
 * with the thread that started it.
 */
export function lockKernel(lock: SelfLock, kernel: Kernel = openKernel()): void {
  must("PR_SET_PDEATHSIG", kernel.prctl(PR_SET_PDEATHSIG, SIGKILL));
  const parentPid = kernel.syscall(NR_GETPPID);
  if (parentPid !== lock.parentPid) {
    throw new Error(`parent is ${parentPid}, expected ${lock.parentPid}: it died before it could be watched`);
  }
  // The server lets nothing be inherited and looks at each child from outside; this is for what it could not see.
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
