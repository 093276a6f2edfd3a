import type { ToolPath } from "#api/tools/contract.ts";
import type { PackageUse, RunWarning, Usage } from "#sdk";
import type { CallStatus } from "./event-schemas.ts";
import type { ArtifactSource, ProcessFile } from "./files.ts";
import type { ApprovalState } from "./states.ts";

/** A stored call. `parameters` and `result` are JSON text. */
export interface TrailCall {
  /** Number of the request within the run, if the environment counts requests. Not stored with the call. */
  requestSeq?: number;
  /** Position in order of issue, from 1. */
  seq: number;
  /** Position in order of ending, from 0, or null while the call is in progress. */
  position: number | null;
  serviceId: string;
  toolId: string;
  startedAt: Date;
  /** Excludes `waitedMs`, the time the call waited for an approver. */
  durationMs: number | null;
  /** Missing if an older server wrote the call. */
  waitedMs?: number;
  status: CallStatus | null;
  error: string | null;
  /** Missing if an older server wrote the call. */
  httpStatus?: number | null;
  parametersBytes: number;
  resultBytes: number;
  parameters: string | null;
  result: string | null;
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

export interface RunApproval {
  id: string;
  seq: number;
  kind: "call" | "ask";
  digest: Buffer;
  state: ApprovalState;
  reason: string | null;
}

/** A sealed approval that has an id but is not stored yet. */
export interface PreparedApproval extends RunApproval {
  state: "pending";
}

/** How a call ended, as the script sees it. Survives JSON. */
export type CallReply = {
  httpStatus?: number;
} /** `savedBytes`: size of the file saved from the answer, null if not saved, missing if saving was not requested. */ & (
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

export interface JournaledCall extends ToolPath {
  seq: number;
  digest: Buffer;
  destructive: boolean;
}

/** A call of an earlier child. If it has no reply, it may or may not have been carried out. */
export interface RestoredCall extends JournaledCall {
  reply: CallReply | null;
}

/** An answer saved as a workspace file, with the number of its request. */
export interface SavedAnswer extends ArtifactSource {
  seq: number;
}

/** A stored saved answer: its content is referenced by digest. */
export interface KeptAnswer extends ProcessFile {
  seq: number;
}

/** Database state from which a run is replayed. */
export interface RestoredRun {
  run: string;
  checkpoint: unknown;
  trail: TrailCall[];
  usage: Usage;
  /** Packages the run imported. A replay reads exactly these again. */
  packages: readonly PackageUse[];
  approvals: RunApproval[];
  events: { id: string; state: ApprovalState }[];
  calls: RestoredCall[];
  saved: KeptAnswer[];
}
