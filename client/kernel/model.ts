/** Results and options of a runtime, the same for remote and local. Types only. */

/** Why a run ended: see docs/glossary.md. `null` while it is paused. */
export type ExitState = "success" | "failed" | "timeout" | "canceled";

export interface ToolCallMade {
  /** `service.tool`. */
  path: string;
  args: unknown;
}

export interface LogLine {
  /** On stdout `info`, or `debug` for `console.debug`; on stderr `error`, or `warn` for `console.warn`. */
  level: "debug" | "info" | "warn" | "error";
  message: string;
}

/** A call or question that waits for approval. */
export interface PausedCall {
  executionId: string;
  /** `service.tool`, or `cyrnel.ask` for a script's question. */
  toolPath: string;
  message: string;
  args?: unknown;
}

/** Lines and columns are 1-based, in the submitted source. */
export interface RunError {
  name: string;
  message: string;
  stack?: string;
  line?: number;
  column?: number;
  /** Source file of `line` and `column`; absent for the script itself. */
  file?: string;
}

/** A problem that did not fail the run. */
export interface RunWarning {
  message: string;
  line?: number | undefined;
  column?: number | undefined;
  file?: string | undefined;
  /** Machine-readable code, such as `call_not_awaited`. */
  code: string;
  /** Place inside a value, such as `result.items[3]`. */
  path?: string | undefined;
}

/** Times in milliseconds. */
export interface RunUsage {
  queuedMs: number;
  startMs: number;
  wallMs: number;
  cpuMs: number;
  peakMemoryBytes: number;
  toolCalls: number;
}

export interface ExecutionResult {
  success: boolean;
  /**
   * The script's return value, as JSON. If the script returned nothing, it is absent, or null if a server stored it.
   */
  value?: unknown;
  /** Error message; absent while the run is paused and after success. */
  error?: string;
  errorDetail?: RunError;
  calls: ToolCallMade[];
  logs: LogLine[];
  /** Empty while it is paused. */
  warnings: RunWarning[];
  /** Set while the run waits for approval. `resolve(paused.executionId, …)` continues it. */
  paused?: PausedCall;
  processId: number;
  exitState: ExitState | null;
  /** Machine-readable cause of `exitState`. */
  reason: string | null;
  usage: RunUsage | null;
}

export interface ExecuteOptions {
  /** Null means no limit. Time spent paused does not count. */
  timeoutMs?: number | null;
  memoryMb?: number;
  cpuMs?: number;
  /** The script's `cyrnel.process.ref`. */
  ref?: string;
  /** The script's `cyrnel.input`: JSON data, at most 1 MiB as text. */
  input?: unknown;
  /** Kills the run. */
  signal?: AbortSignal;
  onStdout?: (text: string) => void;
  onStderr?: (text: string) => void;
  /** Called with each `cyrnel.output` object. */
  onOutput?: (value: Record<string, unknown>) => void;
}

export interface Runtime extends AsyncDisposable {
  /**
   * Runs a script to its end or to the first call that waits for approval. A failed script resolves like any other.
   * Rejects if the script could not be run at all.
   */
  execute(script: string, options?: ExecuteOptions): Promise<ExecutionResult>;
  /** Decides a pending call and returns the next pause or the end of the run. Rejects for an unknown id. */
  resolve(executionId: string, approved: boolean, data?: unknown): Promise<ExecutionResult>;
  /** Returns the paths of the tools a script can call. For a server: as last listed, empty before `ready`. */
  availableTools(): string[];
  /** Resolves once the runtime is set up, or rejects with the reason. `execute` calls it too. */
  ready(): Promise<void>;
  /** Ends every run and releases everything. Idempotent. */
  dispose(): Promise<void>;
}
