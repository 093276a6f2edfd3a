/** The jail children are born in, and the files it leaves them. */
import { closeSync, openSync } from "node:fs";
import { O_CLOEXEC, O_PATH } from "../kernel/kernel-headers.ts";
import type { LandlockGrant } from "../landlock.ts";
import type { BpfProgram } from "../seccomp/bpf.ts";

export interface BirthJail {
  /** Files that may be opened for reading and executed; resolved absolute paths. */
  execute: readonly string[];
  /** Files that may be opened for reading. */
  read: readonly string[];
  /** Of this kernel; 0: without Landlock. */
  landlockAbi: number;
  /** null: without a filter. */
  filter: BpfProgram | null;
  /** Only to show what an attack does without the jail; otherwise children hold none. */
  keepsCapabilities?: true;
}

/** Opens the files for as long as `use` takes. Throws for one that is not there. */
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
