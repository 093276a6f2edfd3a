/** What the server and the child of the self-test say to each other. Bundled into the child. */
import type { SelfLock } from "../jail/lock-self.ts";

/** An argument of a system call: a number, a text, bytes, or the answer of the step before. */
export type StepArgument = number | { text: string } | { bytes: number[] } | "previous";

/** System calls one after another, up to the first that is refused. */
export interface Attack {
  name: string;
  /** Answer 0 means being the copy. */
  isFork?: true;
  steps: { call: number; args: StepArgument[] }[];
}

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
  /** Ends the child if all is well. */
  last: Attack;
}

/** The kernel's answers, by attack: `-errno`, or what it gave. One line per phase. */
export type SelfTestAnswers = Record<string, number>;
