/**
 * Process states and the allowed transitions between them. The statements in store/ are guarded by exactly this
 * table; a test checks every pair of states against them.
 *
 *      POST, autorun:false            signals/run, no slot
 *   ──────────────────────► idle ───────────────────────────► queued ◄── POST, no slot; decided after the child has gone
 *                           ▲ ▲ ▲ │ signals/run, free slot       │
 *            kill           │ │ │ └───────────────┐              │ a slot is free
 *      queued ──────────────┘ │ │                 ▼              ▼
 *                             │ └──── end ───── running ◄────────┘ ◄── POST, free slot
 *                             │                 │  ▲ │
 *                             │   asks approver │  │ │ kill
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
  /** `queued`: the run was claimed but did not start, or the server died during its replay. */
  running: ["paused", "queued", "terminating", "idle"],
  /** `queued`: an approver decided when the run had no child. */
  paused: ["running", "queued", "terminating", "idle"],
  terminating: ["idle"],
} as const satisfies Record<ProcessState, readonly ProcessState[]>;

export function mayChangeState(from: ProcessState, to: ProcessState): boolean {
  return (STATE_TRANSITIONS[from] as readonly ProcessState[]).includes(to);
}

/** Returns the states from which a state may be entered, to guard the statement that enters it. */
export function statesBefore(to: ProcessState): ProcessState[] {
  return PROCESS_STATES.filter((from) => mayChangeState(from, to));
}

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
  /** `detached`: the server is shutting down and leaves the run to a replay. */
  running: ["pausing", "detached", "closed"],
  /** `running`: all requests were decided, or could not be stored, before the run was paused. */
  pausing: ["paused", "running", "detached", "closed"],
  paused: ["running", "detached", "closed"],
  detached: [],
  closed: [],
} as const satisfies Record<PausePhase, readonly PausePhase[]>;

export function mayEnterPhase(from: PausePhase, to: PausePhase): boolean {
  return (PHASE_TRANSITIONS[from] as readonly PausePhase[]).includes(to);
}
