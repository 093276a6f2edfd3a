/**
 * Options on a child's command line. Nothing in them is secret, and they are the same for every run of an
 * environment.
 */
import type { Attack } from "../jail/attack.ts";
import type { SelfLock } from "../jail/lock-self.ts";

export interface BootOptions {
  allowEval: boolean;
  allowWasm: boolean;
  closeFds: number[];
  /** How the child locks itself before it is ready, or null if it does not. */
  lock: SelfLock | null;
  /** System calls that the child tries before and after its lock. It reports the results. */
  attacks?: BootAttacks | null;
  isZygote?: boolean;
}

export interface BootAttacks {
  birth: readonly Attack[];
  locked: readonly Attack[];
}

export function encodeBootOptions(options: BootOptions): string {
  return JSON.stringify(options);
}

/** Replaces malformed members with the most restrictive value. */
export function decodeBootOptions(argument: string | undefined): BootOptions {
  const { allowEval, allowWasm, closeFds, lock, attacks, isZygote } = JSON.parse(argument ?? "{}");
  return {
    allowEval: allowEval === true,
    allowWasm: allowWasm === true,
    closeFds: Array.isArray(closeFds) ? closeFds : [],
    lock: lock ?? null,
    attacks: attacks ?? null,
    isZygote: isZygote === true,
  };
}
