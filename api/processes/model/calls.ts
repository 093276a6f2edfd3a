/** Calls and approvals of a run, as its trail and its journal keep them. */
import type { ToolPath } from "#api/tools/contract.ts";
import type { PackageUse, RunWarning, Usage } from "#sdk";
import type { CallStatus } from "./event-schemas.ts";
import type { ArtifactSource, ProcessFile } from "./files.ts";
import type { ApprovalState } from "./states.ts";

/** A call as it is stored. `parameters` and `result` are JSON text. */
export interface TrailCall {
  /** Number of the request in the run, if the environment counts requests. Not stored with the call. */
  requestSeq?: number;
  /** Order of issue, from 1. */
  seq: number;
  /** Order of ending, from 0. Null while the call is in progress. */
  position: number | null;
  serviceId: string;
  toolId: string;
  startedAt: Date;
  /** Excludes `waitedMs`, in which the call waited for an approver. */
  durationMs: number | null;
  /** Absent if an older server wrote the call. */
  waitedMs?: number;
  status: CallStatus | null;
  error: string | null;
  /** Absent if an older server wrote the call. */
  httpStatus?: number | null;
  parametersBytes: number;
  resultBytes: number;
  parameters: string | null;
  result: string | null;
  /** Null or absent if there are none. */
  warnings?: RunWarning[] | null;
}

export interface CallEnding {
  status: CallStatus;
  error?: string;
  result?: unknown;
}

export interface ApprovalEvent {
  id: string;
  state: ApprovalState;
}

/** The approval of one request of a run. */
export interface RunApproval {
  id: string;
  seq: number;
  kind: "call" | "ask";
  digest: Buffer;
  state: ApprovalState;
  reason: string | null;
}

/** An approval that is sealed and has its id, and is not stored yet. */
export interface PreparedApproval extends RunApproval {
  state: "pending";
}

/** How a call ended, as the script sees it: data that survives JSON. */
export type CallReply = {
  httpStatus?: number;
} /** `savedBytes`: size of the file that the answer became, null if it became none, absent if it was not to become one. */ & (
  | { ok: true; value: unknown; savedBytes?: number | null }
  | { ok: false; error: CallReplyError }
);

interface CallReplyError {
  name: string;
  message: string;
  code?: string;
  status?: number;
  outcome?: string;
  answer?: unknown;
}

/** A call whose adapter is or was called. */
export interface JournaledCall extends ToolPath {
  seq: number;
  digest: Buffer;
  destructive: boolean;
}

/** A call of an earlier child. Without a reply it is unknown whether it was carried out. */
export interface RestoredCall extends JournaledCall {
  reply: CallReply | null;
}

/** An answer that became a file of the workspace, with the number of its request. */
export interface SavedAnswer extends ArtifactSource {
  seq: number;
}

/** A saved answer as it is stored: a content, by its digest. */
export interface KeptAnswer extends ProcessFile {
  seq: number;
}

/** What the database knows of a run that is replayed. */
export interface RestoredRun {
  run: string;
  checkpoint: unknown;
  trail: TrailCall[];
  usage: Usage;
  /** Packages that the run imported: it reads exactly these again. */
  packages: readonly PackageUse[];
  approvals: RunApproval[];
  events: { id: string; state: ApprovalState }[];
  calls: RestoredCall[];
  saved: KeptAnswer[];
}
