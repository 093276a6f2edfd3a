/**
 * Whether the kernel's part of the jail is on the threads of a process, read from outside: nothing it says about itself is
 * believed. Descriptors and environment are checked elsewhere.
 */
import { readdirSync, readFileSync } from "node:fs";
import { readStatusField } from "../process/monitor.ts";
import { findHeldSet } from "./capabilities.ts";

/** Of one thread: /proc/<pid>/task/<tid>/status. */
export interface ThreadState {
  threadId: number;
  name: string;
  /** null: the kernel does not say (gVisor). */
  noNewPrivileges: boolean | null;
  /** The first of the sets of capabilities that must be empty and is not; null: all are. */
  heldSet: string | null;
  /** Seccomp filters in force; null: some are, and the kernel does not count them (before 5.9). */
  filters: number | null;
}

/** Reads every thread of a process. Throws when it is gone. */
export function readThreads(pid: number | "self", emptySets: readonly string[] = []): ThreadState[] {
  return readdirSync(`/proc/${pid}/task`).map((threadId) =>
    readThread(`/proc/${pid}/task/${threadId}`, emptySets),
  );
}

/** Reads the main thread of a process. Throws when it is gone. */
export function readMainThread(pid: number | "self", emptySets: readonly string[] = []): ThreadState {
  return readThread(`/proc/${pid}`, emptySets);
}

/** Reads one thread: `/proc/<pid>`, its main one, or `/proc/<pid>/task/<tid>`. Throws when it is gone. */
function readThread(folder: string, emptySets: readonly string[]): ThreadState {
  return parseThread(readFileSync(`${folder}/status`, "latin1"), emptySets);
}

/** What a status file of /proc says of one thread. */
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

/** What is required of every thread that is looked at of a child that says it has booted. */
export interface RequiredThreads {
  /**
   * Those the server's main thread has, because a container puts some on everything, and two more in the full jail; null:
   * some, on a kernel that does not count.
   */
  filters: number | null;
  noNewPrivileges: boolean;
  /** Sets of capabilities, named as in /proc/<pid>/status. */
  emptySets: readonly string[];
}

/**
 * How the threads of a process differ from what they must be, as sentences; empty when they do not. `main` looks at its
 * main thread alone. Throws when the process is gone.
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

/** Whether the filters in force are those required; where the kernel does not count, that there are some must do. */
export function hasEnoughFilters(found: number | null, required: number | null): boolean {
  return found === null || found >= (required ?? 1);
}
