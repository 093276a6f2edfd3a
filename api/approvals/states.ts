/**
 * The states of an approval. Every change is one statement of store.ts, guarded by `state = 'pending'`; a property test
 * walks all of them against every other event of the process.
 *
 *                  a person approves          the run begins the call (used_at)
 *      pending ──────────────────────► approved ──────────────────────► used, once
 *         │ ├── a person denies ─────► denied
 *         │ └── expires_at passes,
 *         │     the process ends,
 *         │     the tool is removed ─► expired
 *         └── asked for in one transaction with the pause of the run
 */
import type { APPROVAL_STATES } from "./model.ts";

type State = (typeof APPROVAL_STATES)[number];

export const APPROVAL_TRANSITIONS = {
  pending: ["approved", "denied", "expired"],
  approved: [],
  denied: [],
  expired: [],
} as const satisfies Record<State, readonly State[]>;
