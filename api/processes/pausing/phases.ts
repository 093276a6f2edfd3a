/**
 * A run that asks a person, from the first question to its end: where it is, what may happen there, what follows. The
 * controller (run-pauses.ts) moves along this table only; a property test walks it with every interleaving.
 *
 *                          asks
 *        ┌──────────► going ──────────► freezing      halted; then in one transaction: approvals, checkpoint,
 *        │             ▲ ▲ all decided      │         calls under way, state `paused`
 *        │     decided,│ └──────────────────┤ stored
 *        │  or a reply │                    ▼                hold passed, nothing under way
 *        │    is due   └───────────────── parked ──────────────────────────► detached ◄──── the server died
 *        │                                  │                                    │ decided
 *        │                                  │ end, kill                          ▼
 *        │                                  ▼                                 waiting for a slot (`queued`)
 *        │                                over ◄── kill, end ──────────┐         │ claimed
 *        └─────────────────────────────────────────────────────────────┴─── replaying
 */

export const PAUSE_PHASES = ["going", "freezing", "parked", "detached", "over"] as const;
export type PausePhase = (typeof PAUSE_PHASES)[number];

/** Within one child. `detached` and `over` are the last of it; a replay begins with `going` in another. */
export const PHASE_TRANSITIONS = {
  /** `over`: the script ended, failed or was killed. `detached`: the server stops, the run is left to a replay. */
  going: ["freezing", "detached", "over"],
  /** `going`: everything was decided, or could not be stored, before it was frozen. */
  freezing: ["parked", "going", "detached", "over"],
  parked: ["going", "detached", "over"],
  detached: [],
  over: [],
} as const satisfies Record<PausePhase, readonly PausePhase[]>;

export function mayEnter(from: PausePhase, to: PausePhase): boolean {
  return (PHASE_TRANSITIONS[from] as readonly PausePhase[]).includes(to);
}

/** Where one run is in one child. */
export class PauseState {
  #phase: PausePhase = "going";
  #left: PromiseWithResolvers<void> | null = null;

  get phase(): PausePhase {
    return this.#phase;
  }

  /** This child has nothing to do with the run any more. */
  get isOver(): boolean {
    return this.#phase === "over" || this.#phase === "detached";
  }

  /** Throws for a change that the table does not have. */
  enter(phase: PausePhase): void {
    if (phase === this.#phase) return;
    if (!mayEnter(this.#phase, phase)) throw new Error(`a run that is ${this.#phase} cannot become ${phase}`);
    this.#phase = phase;
    this.#left?.resolve();
    this.#left = null;
  }

  /** Resolves with the next change. */
  whenLeft(): Promise<void> {
    this.#left ??= Promise.withResolvers();
    return this.#left.promise;
  }
}

export class Hold {
  readonly #ms: number;
  readonly #onPassed: () => void;
  #timer: NodeJS.Timeout | undefined;
  #hasPassed = false;

  constructor(ms: number, onPassed: () => void) {
    this.#ms = ms;
    this.#onPassed = onPassed;
  }

  get hasPassed(): boolean {
    return this.#hasPassed;
  }

  start(): void {
    this.stop();
    this.#timer = setTimeout(() => this.pass(), this.#ms).unref();
  }

  pass(): void {
    this.#hasPassed = true;
    this.#onPassed();
  }

  /** No person is waited for. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#hasPassed = false;
  }
}

/**
 * The function to say so with. `step` makes one change and answers false when there is nothing to do now; it is never
 * called while another is under way. `failed` is told of what it throws.
 */
export function createWorkLoop(step: () => Promise<boolean>, failed: (error: unknown) => void): () => void {
  let isWorking = false;
  let lookAgain = false;
  async function work(): Promise<void> {
    try {
      while (lookAgain) {
        lookAgain = false;
        while (await step()) {}
      }
    } catch (error) {
      failed(error);
    } finally {
      isWorking = false;
    }
  }
  return () => {
    lookAgain = true;
    if (isWorking) return;
    isWorking = true;
    void work();
  };
}
