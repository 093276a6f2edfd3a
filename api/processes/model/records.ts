import type {
  EXECUTION_REASONS,
  ExecutionExitState,
  ExecutionReason,
  PackageUse,
  PrintLevel,
  RunWarning,
  Usage,
} from "#sdk";
import type { TrailCall } from "./calls.ts";
import type { FileRefusal, ProcessArtifact } from "./files.ts";
import type { ProcessErrorDetail, ProcessSummary } from "./schemas.ts";

type ComputedFields =
  | ("ref" | "queue" | "error" | "errorDetail" | "options" | "output" | "result" | "truncated" | "usage")
  | "warnings"
  | ("createdAt" | "startedAt" | "completedAt");

/** A row of `processes`, without its code. */
export interface ProcessRow extends Omit<ProcessSummary, ComputedFields> {
  ref: string | null;
  claim: string | null;
  /** Id of the server that holds or last held the claim, or null if it has no id. */
  replica: string | null;
  timeoutMs: number | null;
  memoryMb: number | null;
  cpuMs: number | null;
  /** The submitting key, or null if it is not stored. Its role and validity determine what the script sees. */
  keyId: string | null;
  /** Id of the submitting key, `bootstrap` or `anonymous`. */
  submittedBy: string;
  /** Who started the last run, or who submitted the process if it has never run. */
  startedBy: string;
  /** W3C `traceparent` of the request that started the last run, or null if it was not traced. */
  traceParent: string | null;
  usage: Usage | null;
  /** True if the run has asked an approver. While it is `queued`, it waits to be replayed. */
  asked: boolean;
  createdAt: Date;
  queuedAt: Date | null;
  startedAt: Date | null;
  completedAt: Date | null;
}

export interface NewProcess
  extends Pick<Submitted, "code">,
    Partial<StoredInput>,
    Partial<Pick<Submitted, "files" | "name">>,
    Pick<ProcessRow, "timeoutMs" | "memoryMb" | "cpuMs"> {
  ref?: string | undefined;
  /** Higher values run first among processes of the same caller. */
  priority?: number;
  traceParent?: string | null;
  creator: ProcessCreator;
  /** Storage quota of the caller. Used only if files are given. */
  maxStoredBytes?: number | null;
}

export interface StoredInput {
  input: string | null;
  inputSchema: string | null;
}

export interface Submitted extends StoredInput {
  code: string;
  /** JSON text of the given files as records show them, or null. */
  files: string | null;
  /** Name of the script among its files, or null for script.ts. */
  name: string | null;
}

/** `keyId` is set for `key` only. */
export interface ProcessCreator {
  kind: "anonymous" | "bootstrap" | "key";
  keyId: string | null;
}

/** Slot assignment of a run that starts without queueing. */
export interface Placement {
  environment: string;
  claim: string;
  replica: string | null;
}

export interface IdempotencyKey {
  caller: string;
  key: string;
  bodyHash: Buffer;
}

/** Receives events of runs on this server. Its methods must not throw. */
export interface RunObserver {
  runStarted?(row: Pick<ProcessRow, "id" | "traceParent">, environment: string): void;
  /** Called when a child hands its run over to a later child. */
  runLeft?(id: number): void;
  /** Called before the ending is stored. */
  runEnded?(ending: EndedRun, environment: string): void;
  /** Called after storing the ending of a run that left files or had files rejected. */
  filesLeft?(left: LeftFiles, row: Pick<ProcessRow, "startedBy">): void;
}

/** `usage` times are in milliseconds. */
export type EndedRun = Pick<RunEnding, "id" | "exitState" | "reason" | "usage">;

export interface LeftFiles extends Pick<RunEnding, "id" | "artifacts"> {
  filesRefused: FileRefusal | null;
}

/** Ending of a run, as stored. `output` and `result` are JSON text. Text contains no NUL. */
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
  artifacts: readonly ProcessArtifact[];
  packages: readonly PackageUse[];
  warnings: readonly RunWarning[];
  /** True if parts of the run are already stored, because it took longer or is a replay. */
  hasProgress?: boolean;
}

/** Token from the database which proves that one server holds a process. */
export interface Claim {
  id: number;
  claim: string;
}

/** Results as lists show them. `output`, `result` and `warnings` are JSON text. */
export interface SummaryResults {
  stdoutTruncated: boolean;
  stderrTruncated: boolean;
  output: string;
  result: string | null;
  errorDetail: ProcessErrorDetail | null;
  warnings: string | null;
}

/** Byte range of a stream, `end` excluded, printed with a level other than the stream's default. */
export type LevelRange = [start: number, end: number, level: PrintLevel];

export type StreamLevels = Record<"stdout" | "stderr", LevelRange[]>;

export interface StoredResults extends SummaryResults {
  /** Null if every line has the default level of its stream, as in most runs. */
  levels: StreamLevels | null;
  artifacts: string | null;
  packages: string | null;
  stdout: Buffer;
  stderr: Buffer;
  outputs: number;
}

export interface ProcessView extends Submitted {
  row: ProcessRow;
  results: StoredResults;
  queue?: QueuePlace | undefined;
}

export interface QueuePlace {
  /** Position in the queue; 1 runs next. */
  position: number;
  /** Null until a run has ended on this server. */
  estimatedMs: number | null;
}

export interface StoredRun {
  row: ProcessRow;
  submitted: Submitted;
}

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

/** Ending of a run whose server did not see it finish. */
export const INTERRUPTED = failedWith(
  "interrupted",
  "InterruptedError",
  "The server stopped while this script was running.",
);

/** Ending of a paused run that can be neither held nor replayed. */
export const CANNOT_BE_HELD = failedWith(
  "approval_expired",
  "ApprovalExpiredError",
  "No approver decided while the run could be held, and it cannot be replayed later: it is too large, or does what cannot be recorded.",
);
export const PAUSE_LOST = failedWith("crashed", "PauseError", "The server lost track of the paused run.");

export interface RunLimits {
  maxWorkspaceBytes: number;
  maxStdoutBytes: number;
  maxStderrBytes: number;
  maxOutputBytes: number;
  maxResultBytes: number;
}

/** Results that readers see of a run without a child, until it resumes. */
export interface RunSnapshot {
  stdout: Buffer;
  stderr: Buffer;
  levels: StreamLevels | null;
  truncated: { stdout: boolean; stderr: boolean };
  output: string;
  outputs: number;
  /** Includes calls in progress. */
  calls: readonly TrailCall[];
  usage: Usage;
  packages: readonly PackageUse[];
  warnings: readonly RunWarning[];
}

export interface RunProgress {
  parts: number;
  stdout: number;
  stderr: number;
  outputs: number;
  calls: number;
  ended: number;
  /** Resolves when no part is being written. Never rejects. */
  writing: Promise<unknown>;
}

/**
 * What a run has produced since the previous part, in case its server dies. `levels` cover both streams from their
 * start.
 */
export interface ProgressPart
  extends Claim,
    Pick<
      RunSnapshot,
      "stdout" | "stderr" | "levels" | "truncated" | "outputs" | "calls" | "usage" | "packages" | "warnings"
    > {
  /** Part number within the claim, from 0. */
  part: number;
  output: readonly { name: string; member: string }[];
}
