import { closeSync, openSync } from "node:fs";
import { O_CLOEXEC, O_PATH } from "../kernel/kernel-headers.ts";
import type { LandlockGrant } from "../landlock.ts";
import type { BpfProgram } from "../seccomp/bpf.ts";

export interface BirthJail {
  /** Resolved absolute paths of files that may be read and executed. */
  execute: readonly string[];
  read: readonly string[];
  /** 0 to skip Landlock. */
  landlockAbi: number;
  filter: BpfProgram | null;
  /** Only for demonstrating what an attack achieves without the jail; otherwise children hold no capabilities. */
  keepsCapabilities?: true;
}

/** Opens the files for the duration of `use`. Throws if one is missing. */
export function withGrants<T>({ execute, read }: BirthJail, use: (grants: LandlockGrant[]) => T): T {
  const grants: LandlockGrant[] = [];
  try {
    for (const [paths, isExecuted] of [
      [execute, true],
      [read, false],
    ] as const) {
      for (const path of paths) grants.push({ fd: openSync(path, O_PATH | O_CLOEXEC), execute: isExecuted });
    }
    return use(grants);
  } finally {
    for (const { fd } of grants) closeSync(fd);
  }
}
