/** Whether a person is asked about a request of a script, and what comes of it. */
import type { CallRefusal } from "#api/tools/gate.ts";
import type { PreparedApproval, RunApproval } from "../desk.ts";
import type { AskedApprovals } from "./asked-approvals.ts";
import {
  cannotBeKept,
  DATABASE_IS_AWAY,
  deniedBefore,
  NO_ROOM_TO_PAUSE,
  RUN_HAS_ENDED,
  tooMany,
} from "./refusals.ts";
import type { Decision, WaitingRequests } from "./waiting.ts";

/** A request that a person is to decide. */
export interface AskedRequest {
  seq: number;
  digest: Buffer;
  /** Seals it; what it throws is a refusal. */
  prepare(): PreparedApproval;
  signal: AbortSignal;
}

export interface Asking {
  asked: AskedApprovals;
  waiting: WaitingRequests;
  maxApprovals: number;
  /** Whether one more process may pause. */
  hasRoom(): Promise<boolean>;
  isOver(): boolean;
  /** The request is another than the one that a person was asked about. */
  diverged(message: string): void;
}

/** Waits for a person's decision. Never rejects, but resolves with a refusal when the signal aborts. */
export async function askFor(asking: Asking, request: AskedRequest): Promise<Decision> {
  const { asked, waiting, maxApprovals } = asking;
  const { seq, digest, signal } = request;
  const known = asked.find(seq);
  if (known !== undefined && !known.digest.equals(digest)) {
    asking.diverged(`Request ${seq} of the script is another than the one that a person was asked about`);
    return { refusal: RUN_HAS_ENDED };
  }
  if (known !== undefined && known.state !== "pending") return { approval: known };
  if (known === undefined) {
    const refusal = await refuse(asking, digest);
    if (refusal !== null) return { refusal };
  }
  if (signal.aborted || asking.isOver()) return { refusal: RUN_HAS_ENDED };
  // Others may have asked meanwhile.
  if (known === undefined && asked.size >= maxApprovals) return { refusal: tooMany(maxApprovals) };
  let approval: RunApproval;
  try {
    approval = known ?? request.prepare();
  } catch (error) {
    return { refusal: cannotBeKept(error) };
  }
  asked.add(approval);
  return waiting.wait(approval, known !== undefined, signal);
}

async function refuse({ asked, maxApprovals, hasRoom }: Asking, digest: Buffer): Promise<CallRefusal | null> {
  const denied = asked.findDenied(digest);
  if (denied !== undefined) return deniedBefore(denied);
  if (asked.size >= maxApprovals) return tooMany(maxApprovals);
  try {
    return (await hasRoom()) ? null : NO_ROOM_TO_PAUSE;
  } catch {
    return DATABASE_IS_AWAY;
  }
}
