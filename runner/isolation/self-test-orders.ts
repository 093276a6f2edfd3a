/** Messages between the server and the self-test's child. Bundled into the child. */
import type { Attack } from "../jail/attack.ts";
import type { SelfLock } from "../jail/lock-self.ts";

export interface SelfTestOrders {
  lock: SelfLock;
  first: Attack | null;
  birth: Attack[];
  locked: Attack[];
  limited: Attack[];
  /** True to compute after its limits are set, until the child is killed. */
  spin: boolean;
  /** Number of bytes the child takes after its limits are set, before it waits to be killed; 0 skips this. */
  hoardBytes: number;
  last: Attack;
}

/** The kernel's results in the order tried, one line per phase. */
export type SelfTestAnswers = number[];
