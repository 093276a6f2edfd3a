/**
 * Opens one control group per run if the server may write to part of the cgroup tree: version 2 with delegation, or
 * version 1. Limits are then exact and cover the entire group.
 */
import { mkdir, writeFile } from "node:fs/promises";
import type { Cgroups, CgroupsAbsent, GroupFiles } from "./model.ts";
import { type CgroupSources, readSources } from "./tree.ts";
import { findVersion1, openVersion1 } from "./version1.ts";
import { findVersion2, openVersion2 } from "./version2.ts";

const FIX =
  "delegate a cgroup v2 subtree with memory, pids and cpu to the server (systemd: Delegate=yes, DelegateSubgroup=server); without it limits come from rlimits and the monitor";

/** Looks for a writable part of the tree without changing anything. Returns the reason if there is none. */
export function findCgroups(sources: CgroupSources = readSources()): { version: 1 | 2 } | CgroupsAbsent {
  return firstOf<{ version: 1 | 2 }>([findVersion2, findVersion1], sources);
}

export function openCgroups(
  sources: CgroupSources = readSources(),
  files: GroupFiles = { mkdir, writeFile },
): Cgroups | CgroupsAbsent {
  const open2 = (from: CgroupSources) => openVersion2(from, files);
  return firstOf([open2, (from) => openVersion1(from, files)], sources);
}

function firstOf<T>(ways: ((sources: CgroupSources) => T)[], sources: CgroupSources): T | CgroupsAbsent {
  const reasons: string[] = [];
  for (const way of ways) {
    try {
      return way(sources);
    } catch (error) {
      reasons.push(error instanceof Error ? error.message : String(error));
    }
  }
  return { version: 0, reason: reasons.join("; "), fix: FIX };
}
