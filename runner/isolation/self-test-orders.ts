/** What the server and the child of the self-test say to each other. Bundled into the child. */
import type { Attack } from "../jail/attack.ts";
import type { SelfLock } from "../jail/lock-self.ts";

export interface SelfTestOrders {
  lock: SelfLock;
  /** Ends the child before it has locked itself, if all is well. */
  first: Attack | null;
  /** Before the child has locked itself. */
  birth: Attack[];
  /** After it. */
  locked: Attack[];
  /** After its limits were put on. */
  limited: Attack[];
  /** After its limits were put on: computes until it is ended. */
  spin: boolean;
  /** After its limits were put on: takes so many bytes and waits to be ended; 0: does not. */
  hoardBytes: number;
  /** Ends the child if all is well. */
  last: Attack;
}

/** One line per phase: the kernel's answers, in the order of what was tried. */
export type SelfTestAnswers = number[];
