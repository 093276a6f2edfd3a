/** What the host tells a child on its command line: nothing secret, and the same for every run of an environment. */
import type { Attack } from "../jail/attack.ts";
import type { SelfLock } from "../jail/lock-self.ts";

export interface BootOptions {
  allowEval: boolean;
  allowWasm: boolean;
  /** Descriptors the server itself was started with and could not keep from being inherited. */
  closeFds: number[];
  /** What the child does to itself before it is ready; null: nothing. */
  lock: SelfLock | null;
  /** What the child tries before and after its lock and tells the answers of; null: nothing. */
  attacks?: BootAttacks | null;
  /** It forks a child at each order, instead of being one. */
  isZygote?: boolean;
}

export interface BootAttacks {
  birth: readonly Attack[];
  locked: readonly Attack[];
}

/** The one argument of a child. */
export function encodeBootOptions(options: BootOptions): string {
  return JSON.stringify(options);
}

/** Reads what encodeBootOptions wrote; anything else means the least that can be allowed. */
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
