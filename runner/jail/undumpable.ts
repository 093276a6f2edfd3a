/** Keeps what is in the memory of a process, its environment at its start included, from other programs of the same user. */
import { PR_SET_DUMPABLE } from "./kernel/kernel-headers.ts";
import { openKernel } from "./kernel/syscalls.ts";

/**
 * From now on the kernel refuses them the files of /proc/<pid> that show memory, environment and descriptors, and tracing; and it
 * writes no core dump. Root still may. Programs that are started afterwards are as they always are. Answers false where it cannot
 * be had: without node:ffi, and on other systems than Linux.
 */
export function hideMemory(): boolean {
  if (process.platform !== "linux") return false;
  try {
    return openKernel().prctl(PR_SET_DUMPABLE, 0) === 0;
  } catch {
    return false;
  }
}
