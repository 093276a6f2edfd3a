/**
 * The zygote's side of a fork: a prepared process copies itself when the server orders it. The copy first closes
 * every descriptor it shares with the zygote. Bundled into the child: Node only.
 */
import { closeSync, writeSync } from "node:fs";
import {
  CLONE_CHILD_CLEARTID,
  CLONE_CHILD_SETTID,
  CLONE_PARENT,
  F_GETFD,
  F_SETFD,
  isAarch64,
  NR_CLONE,
  NR_DUP3,
  NR_EXIT_GROUP,
  NR_FCNTL,
  NR_GETPPID,
  PR_GET_TID_ADDRESS,
  PR_SET_NAME,
  PR_SET_PDEATHSIG,
  SIGCHLD,
  SIGKILL,
} from "./kernel/kernel-headers.ts";
import { receiveDescriptors } from "./kernel/passing.ts";
import { allocate, allocateText, type EventLoop, type Kernel } from "./kernel/syscalls.ts";

/** The order socket replaces standard input. */
const ORDERS = 0;
/** The lock closes higher descriptors. */
const MAX_DESCRIPTORS = 64;

/**
 * V8 optimizes the path into the kernel after a few thousand calls, so this happens once here instead of in each
 * fork.
 */
const WARM_UP_CALLS = 3000;

export type Notify = {
  (method: "forked", params: { pid: number }): void;
  (method: "failed", params: { reason: string }): void;
};

/**
 * Forks on each order, which carries three pipes, the files of the control groups to be born in, and the files of
 * those to return to. Returns only in forks: each has its pipes as 0, 1 and 2, its own event loop and no other
 * descriptor. Its parent is the server, which reaps it. Throws if a control group cannot be entered or left, because
 * the next fork would be in the wrong one.
 */
export function serveForks(kernel: Kernel, parentPid: number, loop: EventLoop, notify: Notify): void {
  must("PR_SET_PDEATHSIG", kernel.prctl(PR_SET_PDEATHSIG, SIGKILL));
  if (kernel.syscall(NR_GETPPID) !== parentPid) throw new Error("the server has ended");
  kernel.prctl(PR_SET_NAME, allocateText("cyrnel-zygote"));
  // Compiles the function before a fork needs it.
  loop.renew();
  const threadId = findThreadId(kernel);
  const inherited = markInherited(kernel);
  for (let call = 0; call < WARM_UP_CALLS; call++) kernel.syscall(NR_GETPPID);
  for (;;) {
    const order = receiveDescriptors(kernel, ORDERS);
    if (order === null) {
      kernel.syscall(NR_EXIT_GROUP, 0);
      continue;
    }
    const { bytes, descriptors } = order;
    const groupsAt = 3 + (bytes[0] as number);
    for (const group of descriptors.slice(3, groupsAt)) writeSync(group, "0");
    const pid = clone(kernel, threadId);
    if (pid === 0) {
      for (const to of [0, 1, 2]) must("dup3", kernel.syscall(NR_DUP3, descriptors[to] as number, to, 0));
      for (const fd of descriptors) closeSync(fd);
      kernel.prctl(PR_SET_NAME, allocateText("cyrnel-run"));
      loop.renew();
      for (const fd of inherited) if (kernel.syscall(NR_FCNTL, fd, F_GETFD, 0) === 0) closeSync(fd);
      return;
    }
    for (const group of descriptors.slice(groupsAt)) writeSync(group, "0");
    for (const fd of descriptors) closeSync(fd);
    if (pid > 0) notify("forked", { pid });
    else notify("failed", { reason: `clone failed with errno ${-pid}` });
  }
}

function must(step: string, result: number): void {
  if (result < 0) throw new Error(`${step} failed with errno ${-result}`);
}

/** CLONE_PARENT makes the server the parent. Returns 0 in the fork. */
function clone(kernel: Kernel, threadId: bigint): number {
  const flags = CLONE_PARENT | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD;
  // The last two arguments are swapped between architectures; the other one is unused.
  const tls = 0;
  return isAarch64
    ? kernel.syscall(NR_CLONE, flags, 0, 0, tls, threadId)
    : kernel.syscall(NR_CLONE, flags, 0, 0, threadId, tls);
}

/**
 * Returns the address where libc keeps this thread's id, as registered with the kernel; a fork writes its own id
 * there.
 */
function findThreadId(kernel: Kernel): bigint {
  const address = allocate(8);
  must("PR_GET_TID_ADDRESS", kernel.prctl(PR_GET_TID_ADDRESS, address));
  return new DataView(address.buffer).getBigUint64(0, true);
}

/**
 * Clears close-on-exec on every descriptor above 2. Descriptors opened by a fork's event loop have it, so a fork
 * knows which ones to close.
 */
function markInherited(kernel: Kernel): number[] {
  const open: number[] = [];
  for (let fd = 3; fd < MAX_DESCRIPTORS; fd++) {
    if (kernel.syscall(NR_FCNTL, fd, F_SETFD, 0) === 0) open.push(fd);
  }
  return open;
}
