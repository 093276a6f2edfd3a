/** What a memory limit in megabytes means for a whole process: beyond its heap it needs code, stacks and young space. */

const BYTES_PER_MB = 1024 * 1024;
const KERNEL_SLACK_MB = 48;
/** More than the kernel's: an allocation that is refused is an error the script may handle, being watched out is none. */
const WATCH_SLACK_MB = 64;

/** Bytes a process with this limit may add, from the moment it is ready, before the kernel refuses more. */
export function toKernelBudget(memoryMb: number): number {
  return (memoryMb + KERNEL_SLACK_MB) * BYTES_PER_MB;
}

/** Bytes of its own memory it may grow by before whoever watches it ends it. */
export function toWatchBudget(memoryMb: number): number {
  return (memoryMb + WATCH_SLACK_MB) * BYTES_PER_MB;
}

/** What a child has before its script, and what the kernel counts in a control group beside its own memory, at most. */
const GROUP_BASE_MB = 96;

/** Bytes everything of a process with this limit may take, pages of files and the kernel's own included. */
export function toGroupBudget(memoryMb: number): number {
  return toWatchBudget(memoryMb) + GROUP_BASE_MB * BYTES_PER_MB;
}
