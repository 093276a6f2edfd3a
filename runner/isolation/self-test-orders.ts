/** Messages between the server and the self-test's child. Bundled into the child. */
import type { Attack } from "../jail/attack.ts";
import type { SelfLock } from "../jail/lock-self.ts";

export interface SelfTestOrders {
  lock: SelfLock;
  /** Must end the child before it locks itself. */
  first: Attack | null;
  /** Tried before the child locks itself. */
  birth: Attack[];
  /** Tried afterwards. */
  locked: Attack[];
  /** Tried once its limits are set. */
  limited: Attack[];
  /** Once its limits are set: computes until it is killed. */
  spin: boolean;
  /** Once its limits are set: takes this many bytes and waits to be killed; 0 skips this. */
  hoardBytes: number;
  /** Must end the child. */
  last: Attack;
}

/** One line per phase: the kernel's results, in the order tried. */
export type SelfTestAnswers = number[];
