/** What is written of a paused run, and where: the port between the controller of one run and the database. */
import type { ToolPath } from "#api/tools/gate.ts";
import type { Usage } from "#sdk";
import type { TrailCall } from "../live/trail.ts";
import type { ApprovalState, PreparedApproval, RunApproval } from "./desk.ts";

/** How a call ended, as the script is told: data that goes through JSON. */
export type CallReply =
  | { ok: true; value: unknown }
  | { ok: false; error: { name: string; message: string; code?: string; status?: number; outcome?: string } };

/** A call whose adapter is called, or was. */
export interface JournaledCall extends ToolPath {
  seq: number;
  digest: Buffer;
  destructive: boolean;
}

/** A call of an earlier child. Without a reply it is not known whether it was carried out. */
export interface CarriedCall extends JournaledCall {
  reply: CallReply | null;
}

/** What the database knows of a run that is repeated. */
export interface CarriedRun {
  run: string;
  checkpoint: unknown;
  trail: TrailCall[];
  usage: Usage;
  approvals: RunApproval[];
  events: { id: string; state: ApprovalState }[];
  calls: CarriedCall[];
}

export interface PauseRecord {
  /** As the environment gave it; null: it cannot be repeated. */
  checkpoint: unknown;
  approvals: readonly PreparedApproval[];
  /** Calls under way, and calls whose reply the checkpoint lacks. */
  calls: readonly CarriedCall[];
  /** Requests whose reply the checkpoint lacks: what is kept of calls is about these only. */
  unanswered: readonly number[];
  trail: readonly TrailCall[];
  usage: Usage;
}

/** What a run that is left by its child shows until it goes on. */
export interface RunSnapshot {
  stdout: Buffer;
  stderr: Buffer;
  truncated: { stdout: boolean; stderr: boolean };
  output: string;
  outputs: number;
  calls: readonly TrailCall[];
}

/** The database's part of one run. Everything rejects when the database does; `false` is that the run is not there any more. */
export interface RunRecords {
  /** One transaction: approvals, checkpoint, calls, state. `replayable` false: the checkpoint was too large to be kept. */
  pause(record: PauseRecord): Promise<{ replayable: boolean } | null>;
  resume(withdrawn: readonly string[]): Promise<boolean>;
  /** False also when somebody has decided meanwhile: then the run goes on here. */
  detach(waiting: readonly string[], snapshot: RunSnapshot): Promise<boolean>;
  /** `approvalId` is marked as used in the same transaction: `used` when it was, by a call that may have been carried out. */
  beginCall(call: JournaledCall, approvalId: string | null): Promise<"begun" | "used" | "gone">;
  endCall(seq: number, reply: CallReply): Promise<void>;
  useAnswer(approvalId: string): Promise<unknown>;
  /** Whether one more process may pause. */
  hasRoom(): Promise<boolean>;
  /** For environments that cannot pause: the run goes on, and so does its clock. */
  storeApprovals(approvals: readonly PreparedApproval[]): Promise<boolean>;
}
