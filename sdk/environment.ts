import { z } from "zod";
import type {
  DiscoverServices,
  DiscoverTools,
  FoundTools,
  InvokeInput,
  ServiceDetails,
  ServiceSummary,
  ToolDetails,
} from "./adapter.ts";
import type { JSONSchema, Module, ModuleSetupContext, RunWarning } from "./module.ts";

/** States an environment reports for an execution. */
export const EXECUTION_STATES = ["queued", "running"] as const;
export type ExecutionState = (typeof EXECUTION_STATES)[number];

/** How an execution ends. */
export const EXECUTION_EXIT_STATES = ["success", "failed", "timeout", "canceled"] as const;
export type ExecutionExitState = (typeof EXECUTION_EXIT_STATES)[number];

/** Machine-readable cause beside an exit state. */
export const EXECUTION_REASONS = {
  success: ["ok"],
  failed: [
    "script_error",
    "unhandled_rejection",
    "syntax_error",
    "memory_limit",
    "cpu_limit",
    "output_limit",
    "crashed",
    "sandbox_violation",
    "approval_denied",
    "approval_expired",
    "replay_divergence",
    "interrupted",
    "interrupted_call",
  ],
  timeout: ["timeout"],
  canceled: ["killed", "queue_timeout"],
} as const satisfies Record<ExecutionExitState, readonly string[]>;
export type ExecutionReason = (typeof EXECUTION_REASONS)[ExecutionExitState][number];

/** Limits of one execution, already clamped by the host. `timeoutMs: null` means no limit. */
export interface ExecutionOptions {
  timeoutMs: number | null;
  memoryMb?: number;
  cpuMs?: number;
  /**
   * Number of bytes the host keeps of each stream. An environment may drop further ones, but must send the first byte
   * beyond.
   */
  maxStdoutBytes?: number;
  maxStderrBytes?: number;
}

/** A file as a script sees it: its name is a label, its size is in bytes. */
export interface WorkspaceFile {
  name: string;
  size: number;
  contentType: string;
}

/** A piece of what a script writes to a file. */
export interface FileWrite {
  name: string;
  data: Uint8Array;
  /**
   * `patch` writes over the content at `at`, after zeros if the file ends before. `discard` drops the pieces of this
   * write, and the file stays as it is.
   */
  mode: "replace" | "append" | "patch" | "discard";
  /** Position in the file, in bytes; with `patch`. */
  at?: number;
  /** True if another piece of this write follows. The file keeps its old content until the last one. */
  more: boolean;
  /** Number of the execution's write that this piece belongs to. */
  write: number;
}

/** A package as a run uses it: exactly this bundle, also in a replay. */
export interface PackageUse {
  name: string;
  version: string;
  /** SHA-256 of the bundle's code, hexadecimal. */
  digest: string;
}

/** Package requested by an import, such as `npm:date-fns@4`. */
export interface PackageRequest {
  name: string;
  /** Version range in npm's notation, or null for any installed version. */
  range: string | null;
}

/** A package with its importable paths in `exports`: `.`, `./locale`. */
export interface FoundPackage extends PackageUse {
  exports: string[];
}

/** Code of a package as one text. The environment treats it as data and evaluates it only in a script's context. */
export interface PackageCode {
  /** A JavaScript function expression; its SHA-256 is the digest. */
  code: string;
  /** Source positions for stacks, as runner/packages makes them. */
  mappings: string | null;
}

export interface ExecutionInput {
  /** Execution id, equal to the process id. */
  eid: number;
  /** The source as submitted. */
  code: string;
  options?: ExecutionOptions;
  /** The client's own label, shown to the script as `cyrnel.process.ref`. */
  ref?: string;
  /**
   * JSON data, shown to the script as `cyrnel.input`: at most 1 MiB of text, nested at most 64 levels; absent without
   * input. An integer beyond 2^53 is a RawInteger (`isRawInteger`, `withBigInts`) if the process's `inputSchema` says
   * `integer`, otherwise the nearest number.
   */
  input?: unknown;
  /** Name of the source among the files, shown in errors. Its imports are relative to it. Default: `script.ts`. */
  name?: string;
  /** Files in the workspace when the run begins; absent without files. */
  files?: readonly WorkspaceFile[];
  /**
   * Checkpoint that `pause` returned for an earlier execution of the same code. The execution replays up to it without
   * calling the host.
   */
  checkpoint?: unknown;
}

/**
 * Why an execution ended without success. Lines and columns are 1-based, in the submitted source. Without `reason` the
 * host uses the first reason of the exit state (`script_error`, `timeout`, `killed`).
 */
export const errorDetailSchema = z.object({
  name: z.string().max(1000),
  message: z.string().max(100_000),
  stack: z.string().max(100_000).optional(),
  line: z.int().positive().optional(),
  column: z.int().positive().optional(),
  /** Name of the source file that line and column are in; absent for the submitted script itself. */
  file: z.string().max(255).optional(),
  reason: z
    .enum(Object.values(EXECUTION_REASONS).flat() as [ExecutionReason, ...ExecutionReason[]])
    .optional(),
});
export type ErrorDetail = z.infer<typeof errorDetailSchema>;

/** Resources used by an execution. Times in milliseconds. */
export interface Usage {
  queuedMs: number;
  startMs: number;
  wallMs: number;
  cpuMs: number;
  peakMemoryBytes: number;
  toolCalls: number;
}

/** Complete outcome of an execution. Members that belong to another exit state are left out, or ignored. */
export interface ExecutionOutcome {
  exitState: ExecutionExitState;
  /** Why it ended without success. A text is a message. */
  error?: string | ErrorDetail;
  /** Return value of the script, as JSON data. */
  result?: unknown;
  usage?: Partial<Usage>;
  /** At most `MAX_WARNINGS`; `droppedWarnings` counts the rest. */
  warnings?: readonly RunWarning[];
  droppedWarnings?: number;
}

/**
 * Called when an answer is about to become a file. Returns null to write it now, before anything else is read or
 * written, or a promise to wait for before calling again.
 */
export type SaveTurn = () => Promise<void> | null;

/** A tool call as an environment passes it on. */
export interface ToolRequest extends Omit<InvokeInput, "files" | "save" | "warn" | "onAnswered"> {
  /** Name of the workspace file for the answer. */
  saveAs?: string;
  /**
   * With `saveAs`, decides when the file appears, so that a replay finds it at the same moment. Without it, at any
   * time.
   */
  saveTurn?: SaveTurn;
  /** If false, a failed call returns the `answer` of its error instead of rejecting. */
  throwOnError?: false;
}

export interface SavedAnswer {
  /** Answer for the script. */
  answer: unknown;
  /** Size of the saved file, or null if nothing was saved and the answer says why. */
  size: number | null;
}

export type PrintLevel = "debug" | "warn";

/** The execution that makes a request. What it may see depends on its submitter. */
export interface CallContext {
  eid: number;
}

/**
 * Callbacks of the host for an environment. They may reject with an `Error` that has `name`, `message`, `code` and
 * sometimes `status` and `answer`. An environment passes exactly those on to the script, including the members of
 * `answer`.
 */
export interface EnvironmentBindings {
  /** With `saveAs` it returns a SavedAnswer. */
  invokeTool(input: ToolRequest): Promise<unknown>;
  setState(eid: number, state: ExecutionState): void;
  setError(eid: number, error: string | ErrorDetail): void;
  /** `level` is set for lines printed with another level than `info` on stdout and `error` on stderr. */
  emitStdout(eid: number, data: Buffer, level?: PrintLevel): void;
  emitStderr(eid: number, data: Buffer, level?: PrintLevel): void;
  /** Shallow merge; later keys win. */
  emitOutput(eid: number, data: Record<string, unknown>): void;
  /** Without `context`, shows only what every running execution may see. */
  discoverServices(query?: DiscoverServices, context?: CallContext): Promise<ServiceSummary[]>;
  discoverTools(query?: DiscoverTools, context?: CallContext): Promise<FoundTools>;
  getService(id: string, context?: CallContext): Promise<ServiceDetails>;
  getTool(id: { serviceId: string; toolId: string }, context?: CallContext): Promise<ToolDetails>;
  getToolDocs(id: { serviceId: string; toolId: string }, context?: CallContext): Promise<string>;
  /** `call`: number of the call within the execution, from 1, and a signal that aborts when the execution is over. */
  ask(
    eid: number,
    request: { message: string; schema?: JSONSchema },
    call?: { seq: number; signal: AbortSignal },
  ): Promise<unknown>;
  /**
   * Returns fewer bytes than `length` at the end of the file. This and the next four are absent if runs have no files.
   * They reject with `file_not_found` or `invalid_file_name`, or with an error named `WorkspaceLimitError`, which has
   * to end the execution as `failed` with `output_limit`.
   */
  readFile?(eid: number, range: { name: string; offset: number; length: number }): Promise<Uint8Array>;
  /** Returns the size of the file, or of the part written so far. */
  writeFile?(eid: number, write: FileWrite): Promise<{ size: number }>;
  removeFile?(eid: number, file: { name: string }): Promise<void>;
  /** Returns the size. `moves` removes the original. */
  copyFile?(eid: number, copy: { name: string; to: string; moves: boolean }): Promise<{ size: number }>;
  /** Fills added bytes with zeros. Returns the size. */
  resizeFile?(eid: number, file: { name: string; size: number }): Promise<{ size: number }>;
  /**
   * Resolves an import to a package. `message` explains to the author why there is none, with similar names and who
   * may install packages. Called while the source is prepared, not in a replay. This and the next one are absent if
   * runs have no packages.
   */
  findPackage?(eid: number, request: PackageRequest): Promise<FoundPackage | { message: string }>;
  /**
   * Rejects if the bundle no longer exists. An environment caches what it has read, and reads again after dropping it.
   */
  readPackage?(eid: number, digest: string): Promise<PackageCode>;
  /**
   * Called during a replay, before the script gets the reply to a call that saved its answer and before its later
   * reads and writes. Resolves once the file is in the workspace again; rejects if its content is missing. Without
   * this callback, `pause` returns null after an answer was saved.
   */
  restoreAnswer?(eid: number, call: { seq: number }): Promise<void>;
  /** Reports the script's return value as JSON data, for environments that return only the exit state. */
  setResult(eid: number, value: unknown): void;
  setUsage(eid: number, usage: Partial<Usage>): void;
}

export interface EnvironmentSetupContext extends ModuleSetupContext {
  bindings: EnvironmentBindings;
  /** Weakest isolation allowed. An environment that cannot provide it throws in `setup`. Default: `strict`. */
  isolation?: IsolationLevel;
  /**
   * True if other machines can reach the server, which then must not run at level `development`. No error should
   * recommend it.
   */
  isExposed?: boolean;
  /** If false, every run gets a booted process instead of a forked one. */
  zygote?: boolean;
}

export interface ToolDocsInput {
  serviceId: string;
  toolId: string;
  description: string;
  inputSchema: JSONSchema;
  outputSchema: JSONSchema;
}

/** One isolation layer of a run, numbered as in docs/security.md. */
export interface IsolationLayer {
  layer: number;
  name: string;
  required: boolean;
  obtained: boolean;
  /** Evidence for the layer: what was observed, not what was configured. */
  verified: string;
  /** Remedy for a missing layer; absent if the layer is there. */
  fix?: string;
}

export const ISOLATION_LEVELS = ["strict", "standard", "development"] as const;
export type IsolationLevel = (typeof ISOLATION_LEVELS)[number];

export interface IsolationReport {
  /** Strongest level whose required layers were all obtained. */
  level: IsolationLevel;
  layers: IsolationLayer[];
  nodeVersion: string;
  platform: string;
  kernel: string;
}

/** Status of an environment, for placing runs and for `GET /environment`. */
export interface EnvironmentStatus {
  /** Number of concurrent executions. */
  slots: number;
  busy: number;
  /** Number of started processes that wait for an execution. */
  warm: number;
  /** Memory of all its processes, if it can be read. Preferably a getter, since most readers want only the rest. */
  memoryBytes?: number | undefined;
  limits: { memoryMb: number; maxMemoryMb: number };
  isolation: IsolationReport;
  /**
   * The prepared process from which processes of runs are forked: its age, its forks, how many were replaced, and how
   * many of those failed. Null while a process is booted for every run; absent if it does not apply.
   */
  zygote?: { ageMs: number; forks: number; renewals: number; failures?: number } | null;
}

export interface EnvironmentModule extends Module {
  setup(context: EnvironmentSetupContext): Promise<void>;
  /**
   * Runs the code to its end and returns the final outcome. Never rejects for what the script did. The exit state
   * alone is enough if error, result and usage were reported through the bindings before. Rejects with an `Error`
   * whose `code` is `not_started` if the host is at fault and nothing of the script has run; then the run is queued
   * again.
   */
  execute(input: ExecutionInput): Promise<ExecutionOutcome | ExecutionExitState>;
  /** Ends an execution promptly, also while draining. Idempotent, and silent for an unknown id. */
  kill(eid: number): Promise<void>;
  /** Returns Markdown for authors of scripts. */
  generateDocs(): Promise<string>;
  /** Returns Markdown for one tool. */
  generateToolDocs(input: ToolDocsInput): Promise<string>;
  /**
   * Optional. Freezes an execution between two steps of its script: its clocks stop, nothing reaches the script, and
   * it holds no slot until `resume` or `kill`. Resolves once it is frozen with the data (JSON) that `execute` needs to
   * replay it up to here in a later process, or with null if it cannot be replayed. Rejects if the execution ended
   * before.
   */
  pause?(eid: number): Promise<unknown>;
  /** Continues a frozen execution at once, even if no slot is free. Silent for an unknown id. */
  resume?(eid: number): void;
  /**
   * True if scripts can import installed npm packages. The host then adds a list of them to the result of
   * `generateDocs`.
   */
  readonly importsPackages?: boolean;
  /** Optional. An environment without it is given any number of executions and queues them itself. */
  status?(): EnvironmentStatus;
}
