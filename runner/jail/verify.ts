/**
 * What a child really is, read from outside: nothing it says about itself is believed. Compares with the server's own
 * state, because a container has put filters on both already.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** Of one thread: /proc/<pid>/task/<tid>/status. */
export interface ThreadState {
  threadId: number;
  name: string;
  noNewPrivileges: boolean;
  /** Seccomp filters in force. */
  filters: number;
}

/** Reads every thread of a process. Throws when it is gone. */
export function readThreads(pid: number | "self"): ThreadState[] {
  return readdirSync(`/proc/${pid}/task`).map((threadId) => {
    const status = readFileSync(`/proc/${pid}/task/${threadId}/status`, "latin1");
    const field = (name: string) => new RegExp(`^${name}:\\s*(.*)$`, "m").exec(status)?.[1] ?? "";
    const filtered = field("Seccomp") === "2";
    return {
      threadId: Number(threadId),
      name: field("Name"),
      noNewPrivileges: field("NoNewPrivs") === "1",
      // Kernels before 5.9 do not count filters.
      filters: filtered ? Number(field("Seccomp_filters") || "1") : 0,
    };
  });
}

/** What is required of a child that says it is ready. */
export interface RequiredState {
  /** Seccomp filters on every thread: those of the server's main thread and two more in the full jail. */
  filters: number;
  noNewPrivileges: boolean;
}

/**
 * The differences between what a ready child is and what it must be, as sentences; empty when it is as required. Checks
 * every thread, the descriptors and the environment. A child that is gone is one difference.
 */
export function findDifferences(
  pid: number,
  required: RequiredState,
  env: Readonly<Record<string, string>>,
): string[] {
  try {
    return [
      ...readThreads(pid).flatMap((thread) => threadDifferences(thread, required)),
      ...descriptorDifferences(pid),
      ...environmentDifferences(pid, env),
    ];
  } catch (error) {
    return [`process ${pid} cannot be examined: ${error instanceof Error ? error.message : String(error)}`];
  }
}

function threadDifferences(thread: ThreadState, required: RequiredState): string[] {
  const differences: string[] = [];
  const who = `thread ${thread.threadId} (${thread.name})`;
  if (thread.filters < required.filters) {
    differences.push(`${who} has ${thread.filters} seccomp filters, expected ${required.filters}`);
  }
  if (required.noNewPrivileges && !thread.noNewPrivileges) differences.push(`${who} may gain privileges`);
  return differences;
}

/** 0, 1 and 2 are pipes; the rest are Node's own event descriptors and pipes within the process. */
function descriptorDifferences(pid: number): string[] {
  const differences: string[] = [];
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    const target = readlinkSync(`/proc/${pid}/fd/${fd}`);
    const isStdio = Number(fd) <= 2;
    const allowed = isStdio
      ? target.startsWith("pipe:")
      : target.startsWith("pipe:") || target.startsWith("anon_inode:") || target === "/dev/null";
    if (!allowed || /io_uring|landlock|bpf|perf/.test(target)) {
      differences.push(`descriptor ${fd} is ${target}`);
    }
  }
  return differences;
}

function environmentDifferences(pid: number, env: Readonly<Record<string, string>>): string[] {
  const expected = Object.entries(env)
    .map(([name, value]) => `${name}=${value}\0`)
    .join("");
  const found = readFileSync(`/proc/${pid}/environ`, "latin1");
  return found === expected ? [] : ["its environment is not the one it was given"];
}
