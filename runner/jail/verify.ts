/**
 * Verifies from outside that a process's threads have the kernel's part of the jail, without trusting anything the
 * process reports. Descriptors and environment are checked elsewhere.
 */
import { readdirSync, readFileSync } from "node:fs";
import { readStatusField } from "../process/monitor.ts";
import { findHeldSet } from "./capabilities.ts";

export interface ThreadState {
  threadId: number;
  name: string;
  /** Null if the kernel does not say (gVisor). */
  noNewPrivileges: boolean | null;
  /** First capability set that must be empty but is not; null if all are empty. */
  heldSet: string | null;
  /** Number of seccomp filters in force; null if there are some but the kernel does not count them (before 5.9). */
  filters: number | null;
}

/** Reads every thread of a process. Throws if it is gone. */
export function readThreads(pid: number | "self", emptySets: readonly string[] = []): ThreadState[] {
  return readdirSync(`/proc/${pid}/task`).map((threadId) =>
    readThread(`/proc/${pid}/task/${threadId}`, emptySets),
  );
}

export function readMainThread(pid: number | "self", emptySets: readonly string[] = []): ThreadState {
  return readThread(`/proc/${pid}`, emptySets);
}

function readThread(folder: string, emptySets: readonly string[]): ThreadState {
  return parseThread(readFileSync(`${folder}/status`, "latin1"), emptySets);
}

export function parseThread(status: string, emptySets: readonly string[] = []): ThreadState {
  const field = (name: string) => readStatusField(status, name) ?? "";
  const isFiltered = field("Seccomp") === "2";
  const count = field("Seccomp_filters");
  return {
    threadId: Number(field("Pid")),
    name: field("Name"),
    noNewPrivileges: field("NoNewPrivs") === "" ? null : field("NoNewPrivs") === "1",
    heldSet: findHeldSet(status, emptySets),
    filters: !isFiltered ? 0 : count === "" ? null : Number(count),
  };
}

export interface RequiredThreads {
  /**
   * Required number: the filters of the server's main thread, since containers install some on everything, plus two
   * in the full jail. Null requires at least one, on a kernel that does not count.
   */
  filters: number | null;
  noNewPrivileges: boolean;
  emptySets: readonly string[];
}

/**
 * Returns sentences about how a process's threads differ from the requirements; empty if they match. `main` checks
 * only its main thread. Throws if the process is gone.
 */
export function findThreadDifferences(
  pid: number,
  required: RequiredThreads,
  which: "all" | "main",
): string[] {
  const { emptySets } = required;
  const threads = which === "all" ? readThreads(pid, emptySets) : [readMainThread(pid, emptySets)];
  return threads.flatMap((thread) => {
    const differences: string[] = [];
    const who = `its thread ${thread.name}`;
    if (!hasEnoughFilters(thread.filters, required.filters)) {
      differences.push(
        `${who} has ${thread.filters} seccomp filters, expected ${required.filters ?? "some"}`,
      );
    }
    if (required.noNewPrivileges && thread.noNewPrivileges === false) {
      differences.push(`${who} may gain privileges`);
    }
    if (thread.heldSet !== null) differences.push(`${who} holds capabilities (${thread.heldSet})`);
    return differences;
  });
}

/** Compares the number of filters; if the kernel does not count, any filter is enough. */
export function hasEnoughFilters(found: number | null, required: number | null): boolean {
  return found === null || found >= (required ?? 1);
}
