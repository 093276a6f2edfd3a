/** Installs a compiled filter on the calling thread or the entire process. Irrevocable. Bundled into the child. */
import {
  EFAULT,
  EINVAL,
  NR_GETPID,
  NR_SECCOMP,
  SECCOMP_FILTER_FLAG_TSYNC,
  SECCOMP_GET_ACTION_AVAIL,
  SECCOMP_RET_KILL_PROCESS,
  SECCOMP_SET_MODE_FILTER,
} from "../kernel/kernel-headers.ts";
import { allocate, type Kernel } from "../kernel/syscalls.ts";
import type { BpfProgram } from "./bpf.ts";

export type FilterTarget = "thread" | "process";

/**
 * Returns whether this kernel has seccomp filters. A kernel that cannot report its features (gVisor) is offered a
 * filter at a null address: it has filters if it tries to read it. The self-test observes whether they end a process.
 */
export function hasSeccomp(kernel: Kernel): boolean {
  const action = allocate(4);
  new DataView(action.buffer).setUint32(0, SECCOMP_RET_KILL_PROCESS, true);
  const answer = kernel.syscall(NR_SECCOMP, SECCOMP_GET_ACTION_AVAIL, 0, action);
  if (answer !== -EINVAL) return answer === 0;
  return kernel.syscall(NR_SECCOMP, SECCOMP_SET_MODE_FILTER, 0, null) === -EFAULT;
}

/**
 * Needs no_new_privs or CAP_SYS_ADMIN. Throws an Error with the errno or, for an entire process, the thread on which
 * the filter could not be installed.
 */
export function installFilter(kernel: Kernel, filter: BpfProgram, target: FilterTarget): void {
  const flags = target === "process" ? SECCOMP_FILTER_FLAG_TSYNC : 0;
  const result = kernel.syscall(NR_SECCOMP, SECCOMP_SET_MODE_FILTER, flags, layOut(kernel, filter));
  if (result < 0) throw new Error(`seccomp failed with errno ${-result}`);
  if (result > 0) throw new Error(`seccomp could not bring thread ${result} under the filter`);
}

/** struct sock_fprog for seccomp(2). */
function layOut(kernel: Kernel, { bytes, pidOffsets }: BpfProgram): Uint8Array {
  const filter = allocate(bytes.byteLength);
  filter.set(bytes);
  const instructions = new DataView(filter.buffer);
  // Node's `process.pid` is still that of the process it was forked from.
  const pid = kernel.syscall(NR_GETPID);
  for (const offset of pidOffsets) instructions.setUint32(offset, pid, true);

  const program = allocate(16);
  const view = new DataView(program.buffer);
  view.setUint16(0, bytes.byteLength / 8, true);
  view.setBigUint64(8, kernel.addressOf(filter, program), true);
  return program;
}
