/** What is known of a process and its run, as it is stored and passed on. Types and the few values that belong to them. */
import type { ToolPath } from "#api/tools/contract.ts";
import type {
  EXECUTION_REASONS,
  ExecutionExitState,
  ExecutionReason,
  PackageUse,
  PrintLevel,
  RunWarning,
  Usage,
} from "#sdk";
import type { ArtifactSource, FileRefusal, ProcessArtifact, ProcessFile } from "./files.ts";
import type { CallStatus, ProcessErrorDetail, ProcessSummary } from "./schemas.ts";
import type { ApprovalState } from "./states.ts";

/** Fields of a record that are not as they are in the row. */
type ComputedFields =
  | ("ref" | "queue" | "error" | "errorDetail" | "options" | "output" | "result" | "truncated" | "usage")
  | "warnings"
  | ("createdAt" | "startedAt" | "completedAt");

/** A row of `processes`, without its code: what a record shows as it is, and the rest. */
export interface ProcessRow extends Omit<ProcessSummary, ComputedFields> {
  ref: string | null;
  claim: string | null;
  /** The server that holds the claim, or held the last one. Null: it has no id. */
  replica: string | null;
  timeoutMs: number | null;
  memoryMb: number | null;
  cpuMs: number | null;
  /** The key that submitted it: its role, and whether it still counts, decide what the script sees. Null: no stored key. */
  keyId: string | null;
  /** The id of that key, `bootstrap` or `anonymous`. */
  submittedBy: string;
  /** Who started the last run, likewise; of one that has not run who submitted it. */
  startedBy: string;
  /** W3C `traceparent` of the request that started the last run; null: it was not traced. */
  traceParent: string | null;
  usage: Usage | null;
  /** The run has asked a person: while it is `queued`, it is to be repeated. */
  asked: boolean;
  createdAt: Date;
  queuedAt: Date | null;
  startedAt: Date | null;
  completedAt: Date | null;
}

/** What is stored of a submission: its fields but those that only say how to go on, and limits in force. */
export interface NewProcess
  extends Pick<Submitted, "code">,
    Partial<StoredInput>,
    Partial<Pick<Submitted, "files" | "name">>,
    Pick<ProcessRow, "timeoutMs" | "memoryMb" | "cpuMs"> {
  ref?: string | undefined;
  /** Among the processes of the same caller: higher first. */
  priority?: number;
  traceParent?: string | null;
  creator: ProcessCreator;
  /** What its caller may keep as files; only asked where it is given some. */
  maxStoredBytes?: number | null;
}

/** What runs of a process are given, as JSON text. Null: none. */
export interface StoredInput {
  input: string | null;
  /** What the input has to fit. */
  inputSchema: string | null;
}

/** What was submitted. */
export interface Submitted extends StoredInput {
  code: string;
  /** JSON text of what records show of the files that runs are given. Null: none. */
  files: string | null;
  /** Of the script among its files. Null: script.ts. */
  name: string | null;
}

/** Who submitted a process. `keyId` goes with `key` only. */
export interface ProcessCreator {
  kind: "anonymous" | "bootstrap" | "key";
  keyId: string | null;
}

/** Where a run starts at once. */
export interface Placement {
  environment: string;
  claim: string;
  /** Of this server; null: the only one. */
  replica: string | null;
}

export interface IdempotencyKey {
  caller: string;
  key: string;
  bodyHash: Buffer;
}

/** What wants to know of the runs of this server. None of these may throw. */
export interface RunObserver {
  /** A run begins in an environment, a repeated one included. */
  runStarted?(row: Pick<ProcessRow, "id" | "traceParent">, environment: string): void;
  /** Its child leaves the run to a later one. */
  runLeft?(id: number): void;
  /** Told before the ending is stored. */
  runEnded?(ending: EndedRun, environment: string): void;
  /** The ending of a run is stored that left files, or had files refused; most have neither. `startedBy`: see ProcessRow. */
  filesLeft?(left: LeftFiles, row: Pick<ProcessRow, "startedBy">): void;
}

/** How a run ended, without what it left. Times of `usage` in milliseconds. */
export type EndedRun = Pick<RunEnding, "id" | "exitState" | "reason" | "usage">;

/** What a run left. */
export interface LeftFiles extends Pick<RunEnding, "id" | "artifacts"> {
  /** Why files of it are not kept; null: all are that it wrote. */
  filesRefused: FileRefusal | null;
}

/** How a run ended, as it is stored. `output`, `result` are JSON text; text holds no NUL. */
export interface RunEnding {
  id: number;
  claim: string;
  exitState: ExecutionExitState;
  reason: ExecutionReason;
  error: ProcessErrorDetail | null;
  memoryMb: number | null;
  usage: Usage;
  stdout: Buffer;
  stderr: Buffer;
  levels: StreamLevels | null;
  truncated: { stdout: boolean; stderr: boolean };
  output: string;
  outputs: number;
  result: string | null;
  calls: readonly TrailCall[];
  /** Their contents are stored. */
  artifacts: readonly ProcessArtifact[];
  packages: readonly PackageUse[];
  warnings: readonly RunWarning[];
  /** Something of the run is stored already: it took longer, or is a repetition. Absent: nothing is. */
  hasProgress?: boolean;
}

/** A process in the hands of one server, by the token it was given with it. */
export interface Claim {
  id: number;
  claim: string;
}

/** What a listed process shows of its results. `output`, `result` and `warnings` (null without any) are JSON text. */
export interface SummaryResults {
  stdoutTruncated: boolean;
  stderrTruncated: boolean;
  output: string;
  result: string | null;
  errorDetail: ProcessErrorDetail | null;
  warnings: string | null;
}

/** Bytes of a stream from the first position to before the second, which were printed with another level than most. */
export type LevelRange = [start: number, end: number, level: PrintLevel];

/** In the order of the stream. */
export type StreamLevels = Record<"stdout" | "stderr", LevelRange[]>;

export interface StoredResults extends SummaryResults {
  /** Null: every line has the level that its stream stands for, as of most runs. */
  levels: StreamLevels | null;
  /** JSON text of what records show of the files that the run left. Null: none. */
  artifacts: string | null;
  /** JSON text of the packages that the run has imported. Null: none. */
  packages: string | null;
  stdout: Buffer;
  stderr: Buffer;
  outputs: number;
}

/** A process with everything a record shows. */
export interface ProcessView extends Submitted {
  row: ProcessRow;
  results: StoredResults;
  /** While it is in the queue. */
  queue?: QueuePlace | undefined;
}

export interface QueuePlace {
  /** 1: the next. */
  position: number;
  /** Null while no run has ended here yet. */
  estimatedMs: number | null;
}

export interface StoredRun {
  row: ProcessRow;
  submitted: Submitted;
}

/** Of a row with both: what was submitted may be large, and is kept once. */
export function toStoredRun({
  code,
  input,
  inputSchema,
  files,
  name,
  ...row
}: ProcessRow & Submitted): StoredRun {
  return { row, submitted: { code, input, inputSchema, files, name } };
}

/** One call as it is stored. `parameters` and `result` are JSON text. */
export interface TrailCall {
  /** Its place among all that the run asked of the host, where the environment says it; not stored with the call. */
  requestSeq?: number;
  /** Order of issue, from 1. */
  seq: number;
  /** Order of ending, from 0; null while the call is under way. */
  position: number | null;
  serviceId: string;
  toolId: string;
  startedAt: Date;
  /** Without `waitedMs`, for which it stood still for a person. */
  durationMs: number | null;
  /** Absent in what a server of an earlier version wrote. */
  waitedMs?: number;
  status: CallStatus | null;
  error: string | null;
  /** Absent in what a server of an earlier version wrote. */
  httpStatus?: number | null;
  parametersBytes: number;
  resultBytes: number;
  parameters: string | null;
  result: string | null;
  /** Null or absent without any. */
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

export interface Ending {
  exitState: ExecutionExitState;
  reason: ExecutionReason;
  error: ProcessErrorDetail | null;
}

export function errorDetail(name: string, message: string): ProcessErrorDetail {
  return { name, message, stack: null, line: null, column: null };
}

export function failedWith(
  reason: (typeof EXECUTION_REASONS)["failed"][number],
  name: string,
  message: string,
): Ending {
  return { exitState: "failed", reason, error: errorDetail(name, message) };
}

/** What becomes of a run that the server did not see to its end. */
export const INTERRUPTED = failedWith(
  "interrupted",
  "InterruptedError",
  "The server stopped while this script was running.",
);

export interface RunLimits {
  /** Of what a run writes to files. */
  maxWorkspaceBytes: number;
  maxStdoutBytes: number;
  maxStderrBytes: number;
  maxOutputBytes: number;
  maxResultBytes: number;
}

/** A parked request as the run knows it. */
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

/** How a call ended, as the script is told: data that goes through JSON. */
export type CallReply = {
  httpStatus?: number;
} /** `savedBytes`: of the file that the answer became; null: it became none. Absent where it was not to. */ & (
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

/** A call whose adapter is called, or was. */
export interface JournaledCall extends ToolPath {
  seq: number;
  digest: Buffer;
  destructive: boolean;
}

/** A call of an earlier child. Without a reply it is not known whether it was carried out. */
export interface RestoredCall extends JournaledCall {
  reply: CallReply | null;
}

/** An answer that became a file of the workspace, by the call's place among the requests of the run. */
export interface SavedAnswer extends ArtifactSource {
  seq: number;
}

/** As it is stored: a content, by its digest. */
export interface KeptAnswer extends ProcessFile {
  seq: number;
}

/** What the database knows of a run that is repeated. */
export interface RestoredRun {
  run: string;
  checkpoint: unknown;
  trail: TrailCall[];
  usage: Usage;
  /** What the run has imported: it reads exactly these again. */
  packages: readonly PackageUse[];
  approvals: RunApproval[];
  events: { id: string; state: ApprovalState }[];
  calls: RestoredCall[];
  saved: KeptAnswer[];
}

/** What a run that is left by its child shows until it goes on. */
export interface RunSnapshot {
  stdout: Buffer;
  stderr: Buffer;
  levels: StreamLevels | null;
  truncated: { stdout: boolean; stderr: boolean };
  output: string;
  outputs: number;
  /** Those under way among them. */
  calls: readonly TrailCall[];
  usage: Usage;
  packages: readonly PackageUse[];
  warnings: readonly RunWarning[];
}

/** How much of a run is stored in parts. */
export interface RunProgress {
  parts: number;
  stdout: number;
  stderr: number;
  outputs: number;
  /** Calls begun, and calls ended. */
  calls: number;
  ended: number;
  /** Resolves when no part of it is being stored. Never rejects. */
  writing: Promise<unknown>;
}

/** What a run has left since the part before, for when its server dies. `levels` are those of the whole streams so far. */
export interface ProgressPart
  extends Claim,
    Pick<
      RunSnapshot,
      "stdout" | "stderr" | "levels" | "truncated" | "outputs" | "calls" | "usage" | "packages" | "warnings"
    > {
  /** From 0, for each claim. */
  part: number;
  /** Members of the output, as JSON text. */
  output: readonly { name: string; member: string }[];
}
