/** Messages between the server and the self-test's child. Bundled into the child. */
import type { Attack } from "../jail/attack.ts";
import type { SelfLock } from "../jail/lock-self.ts";

export interface SelfTestOrders {
  lock: SelfLock;
  first: Attack | null;
  birth: Attack[];
  locked: Attack[];
  limited: Attack[];
  /** After its limits are set, the child computes until it is killed. */
  spin: boolean;
  /** After its limits are set, the child takes this many bytes and waits to be killed; 0 skips this. */
  hoardBytes: number;
  last: Attack;
}

/** One line per phase: the kernel's results, in the order tried. */
export type SelfTestAnswers = number[];
