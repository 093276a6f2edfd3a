/** Processes and their runs, as they are stored and passed on. */
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

/** Fields of a record that are not as they are in the row. */
type ComputedFields =
  | ("ref" | "queue" | "error" | "errorDetail" | "options" | "output" | "result" | "truncated" | "usage")
  | "warnings"
  | ("createdAt" | "startedAt" | "completedAt");

/** A row of `processes`, without its code: what a record shows as it is, and the rest. */
export interface ProcessRow extends Omit<ProcessSummary, ComputedFields> {
  ref: string | null;
  claim: string | null;
  /** The server that holds or last held the claim, or null if it has no id. */
  replica: string | null;
  timeoutMs: number | null;
  memoryMb: number | null;
  cpuMs: number | null;
  /** The key that submitted it: its role, and whether it is still valid, decide what the script sees. Null if it is not stored. */
  keyId: string | null;
  /** The id of that key, `bootstrap` or `anonymous`. */
  submittedBy: string;
  /** Who started the last run, or who submitted the process if it has not run. */
  startedBy: string;
  /** W3C `traceparent` of the request that started the last run, or null if it was not traced. */
  traceParent: string | null;
  usage: Usage | null;
  /** The run has asked an approver: while it is `queued`, it waits to be replayed. */
  asked: boolean;
  createdAt: Date;
  queuedAt: Date | null;
  startedAt: Date | null;
  completedAt: Date | null;
}

/** A submission as it is stored, with the limits in force. */
export interface NewProcess
  extends Pick<Submitted, "code">,
    Partial<StoredInput>,
    Partial<Pick<Submitted, "files" | "name">>,
    Pick<ProcessRow, "timeoutMs" | "memoryMb" | "cpuMs"> {
  ref?: string | undefined;
  /** Higher ones run first, among the processes of the same caller. */
  priority?: number;
  traceParent?: string | null;
  creator: ProcessCreator;
  /** Storage quota of its caller. Only read if files are given. */
  maxStoredBytes?: number | null;
}

/** Input of the runs of a process, as JSON text, or null. */
export interface StoredInput {
  input: string | null;
  /** JSON Schema of the input. */
  inputSchema: string | null;
}

/** What was submitted. */
export interface Submitted extends StoredInput {
  code: string;
  /** JSON text of the given files as records show them, or null. */
  files: string | null;
  /** Name of the script among its files. Null means script.ts. */
  name: string | null;
}

/** Who submitted a process. `keyId` goes with `key` only. */
export interface ProcessCreator {
  kind: "anonymous" | "bootstrap" | "key";
  keyId: string | null;
}

/** Slot assignment of a run that starts without queueing. */
export interface Placement {
  environment: string;
  claim: string;
  /** Id of this server, or null if it is the only one. */
  replica: string | null;
}

export interface IdempotencyKey {
  caller: string;
  key: string;
  bodyHash: Buffer;
}

/** Receives events of the runs of this server. None of these may throw. */
export interface RunObserver {
  /** A run or replay begins in an environment. */
  runStarted?(row: Pick<ProcessRow, "id" | "traceParent">, environment: string): void;
  /** A child leaves its run to a later one. */
  runLeft?(id: number): void;
  /** Called before the ending is stored. */
  runEnded?(ending: EndedRun, environment: string): void;
  /** The ending is stored of a run that left files or had files refused. */
  filesLeft?(left: LeftFiles, row: Pick<ProcessRow, "startedBy">): void;
}

/** How a run ended. Times of `usage` are milliseconds. */
export type EndedRun = Pick<RunEnding, "id" | "exitState" | "reason" | "usage">;

export interface LeftFiles extends Pick<RunEnding, "id" | "artifacts"> {
  /** Why files are not kept, or null if all that the run wrote are. */
  filesRefused: FileRefusal | null;
}

/** The ending of a run, as it is stored. `output` and `result` are JSON text. Text holds no NUL. */
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
  /** Parts of the run are stored already, because it took longer or is a replay. */
  hasProgress?: boolean;
}

/** Proof that one server holds a process: the token that the database gave it. */
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

/** Range of bytes of a stream, without `end`, that was printed with another level than its default. */
export type LevelRange = [start: number, end: number, level: PrintLevel];

/** In the order of the stream. */
export type StreamLevels = Record<"stdout" | "stderr", LevelRange[]>;

export interface StoredResults extends SummaryResults {
  /** Null if every line has the default level of its stream, as in most runs. */
  levels: StreamLevels | null;
  /** JSON text of the files that the run left, or null. */
  artifacts: string | null;
  /** JSON text of the packages that the run imported, or null. */
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
  /** 1: the next. */
  position: number;
  /** Null while no run has ended here yet. */
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

/** Ending of a run that the server did not see to its end. */
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
  /** Limit of all files that a run writes. */
  maxWorkspaceBytes: number;
  maxStdoutBytes: number;
  maxStderrBytes: number;
  maxOutputBytes: number;
  maxResultBytes: number;
}

/** What readers see of a run without a child, until it continues. */
export interface RunSnapshot {
  stdout: Buffer;
  stderr: Buffer;
  levels: StreamLevels | null;
  truncated: { stdout: boolean; stderr: boolean };
  output: string;
  outputs: number;
  /** Including calls in progress. */
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

/** What a run has left since the part before, in case its server dies. `levels` cover the whole streams so far. */
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
