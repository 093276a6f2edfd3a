/** Hides a process's memory, including its environment at startup, from other programs of the same user. */
import { PR_SET_DUMPABLE } from "./kernel/kernel-headers.ts";
import { openKernel } from "./kernel/syscalls.ts";

/**
 * Makes the kernel refuse other programs tracing and the /proc/<pid> files that show memory, environment and
 * descriptors, and write no core dump. Root keeps access. Does not affect programs started afterwards. Returns false
 * without node:ffi and outside Linux.
 */
export function hideMemory(): boolean {
  if (process.platform !== "linux") return false;
  try {
    return openKernel().prctl(PR_SET_DUMPABLE, 0) === 0;
  } catch {
    return false;
  }
}
