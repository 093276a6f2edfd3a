/**
 * The filters of the jail as programs. A build may put what `compileFilters` returns in the place of this file: it depends on
 * its arguments alone, and pids are filled in where a program is laid out.
 */
import { type BpfProgram, OWN_PID } from "./bpf.ts";
import { compilePolicy } from "./compile.ts";
import { birthPolicy, type SelfLockOptions, selfLockPolicy } from "./policies.ts";
import type { Architecture } from "./syscall-numbers.ts";

export interface Filters {
  birth: BpfProgram;
  selfLock: BpfProgram;
}

/** The birth filter is for children of the process that lays it out. */
export function compileFilters(architecture: Architecture, options: SelfLockOptions): Filters {
  return {
    birth: compilePolicy(birthPolicy(OWN_PID), architecture),
    selfLock: compilePolicy(selfLockPolicy(options), architecture),
  };
}
