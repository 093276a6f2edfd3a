/** Options on the command line of a child: nothing secret, and the same for every run of an environment. */
import type { Attack } from "../jail/attack.ts";
import type { SelfLock } from "../jail/lock-self.ts";

export interface BootOptions {
  allowEval: boolean;
  allowWasm: boolean;
  /** Descriptors that the server was started with and that a child inherits. */
  closeFds: number[];
  /** How the child locks itself before it is ready, if at all. */
  lock: SelfLock | null;
  /** System calls that the child tries before and after its lock, reporting the results. */
  attacks?: BootAttacks | null;
  /** True for a zygote, which forks a child at each order. */
  isZygote?: boolean;
}

export interface BootAttacks {
  birth: readonly Attack[];
  locked: readonly Attack[];
}

export function encodeBootOptions(options: BootOptions): string {
  return JSON.stringify(options);
}

/** Malformed members become the least that can be allowed. */
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
