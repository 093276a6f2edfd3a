/**
 * The states of a process and every change between them that may happen. The statements in store.ts are guarded to
 * exactly this table; a test walks all pairs through them.
 *
 *      POST, autorun:false            signals/run, no slot
 *   ──────────────────────► idle ───────────────────────────► queued ◄── POST, no slot; decided after the child has gone
 *                           ▲ ▲ ▲ │ signals/run, free slot       │
 *            kill           │ │ │ └───────────────┐              │ a slot is free
 *      queued ──────────────┘ │ │                 ▼              ▼
 *                             │ └──── end ───── running ◄────────┘ ◄── POST, free slot
 *                             │                 │  ▲ │
 *                             │   asks a person │  │ │ kill
 *                             │                 ▼  │ │
 *                             ├─── expired ── paused │
 *                             │            kill │    ▼
 *                             │                 └► terminating
 *                             └─── environment confirms ──┘
 */

export const PROCESS_STATES = ["queued", "running", "paused", "terminating", "idle"] as const;
export type ProcessState = (typeof PROCESS_STATES)[number];

export const STATE_TRANSITIONS = {
  idle: ["queued", "running"],
  queued: ["running", "idle"],
  /** `queued`: it was claimed and has not begun, or the server died while it repeated the run. */
  running: ["paused", "queued", "terminating", "idle"],
  /** `queued`: decided when no child held the run any more. */
  paused: ["running", "queued", "terminating", "idle"],
  terminating: ["idle"],
} as const satisfies Record<ProcessState, readonly ProcessState[]>;

export function mayChangeState(from: ProcessState, to: ProcessState): boolean {
  return (STATE_TRANSITIONS[from] as readonly ProcessState[]).includes(to);
}

/** The states from which a state may be entered: the guard of a statement that enters it. */
export function statesBefore(to: ProcessState): ProcessState[] {
  return PROCESS_STATES.filter((from) => mayChangeState(from, to));
}

/** States of a process that an environment holds. */
export const HELD_STATES = ["running", "paused", "terminating"] as const satisfies readonly ProcessState[];
export const APPROVAL_STATES = ["pending", "approved", "denied", "expired"] as const;

export type ApprovalState = (typeof APPROVAL_STATES)[number];

/**
 * Phases of a run that asks approvers, in one child. `detached` and `closed` are its last; a replay starts as `running` in another.
 *
 *                       asks
 *        ┌──────────► running ────────► pausing       halted; then one transaction stores approvals, checkpoint,
 *        │             ▲ ▲ all decided     │          calls in progress, and the state `paused`
 *        │    decided, │ └─────────────────┤ stored
 *        │ or a reply  │                   ▼               hold passed, nothing in progress
 *        │    is due   └──────────────── paused ──────────────────────────► detached ◄──── the server died
 *        │                                 │                                    │ decided
 *        │                                 │ end, kill                          ▼
 *        │                                 ▼                                 waiting for a slot (`queued`)
 *        │                              closed ◄── kill, end ──────────┐         │ claimed
 *        └─────────────────────────────────────────────────────────────┴─── replaying
 */
export type PausePhase = "running" | "pausing" | "paused" | "detached" | "closed";

const PHASE_TRANSITIONS = {
  /** `detached`: the server shuts down and leaves the run to a replay. */
  running: ["pausing", "detached", "closed"],
  /** `running`: everything was decided, or could not be stored, before the run was paused. */
  pausing: ["paused", "running", "detached", "closed"],
  paused: ["running", "detached", "closed"],
  detached: [],
  closed: [],
} as const satisfies Record<PausePhase, readonly PausePhase[]>;

export function mayEnterPhase(from: PausePhase, to: PausePhase): boolean {
  return (PHASE_TRANSITIONS[from] as readonly PausePhase[]).includes(to);
}
