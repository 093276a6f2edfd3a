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

/** States an environment reports for an execution it was given. */
export const EXECUTION_STATES = ["queued", "running"] as const;
export type ExecutionState = (typeof EXECUTION_STATES)[number];

/** How an execution ends. */
export const EXECUTION_EXIT_STATES = ["success", "failed", "timeout", "canceled"] as const;
export type ExecutionExitState = (typeof EXECUTION_EXIT_STATES)[number];

/** The machine-readable word beside an exit state: which of the ways to end it was. */
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

/** Limits of one execution, already clamped by the host. `timeoutMs: null` is no limit. */
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
   * `patch`: it is written over what is at `at`, after zeros where the file ends before. `discard`: the pieces of this write come
   * to nothing, and the file stays as it is.
   */
  mode: "replace" | "append" | "patch" | "discard";
  /** Bytes from the beginning of the file; with `patch`. */
  at?: number;
  /** Another piece of this write follows: the file is as it was until the last one. */
  more: boolean;
  /** Number of the execution's write that this piece belongs to. */
  write: number;
}

/** A package as a run uses it: exactly this bundle, also when the run is repeated. */
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

/** `exports`: what of it can be imported: `.`, `./locale`. */
export interface FoundPackage extends PackageUse {
  exports: string[];
}

/** A package made into one text. It is data for the environment: what is in it runs in a script's context only. */
export interface PackageCode {
  /** A JavaScript expression of a function; its SHA-256 is the digest. */
  code: string;
  /** For stacks of errors, as runner/packages makes them. */
  mappings: string | null;
}

export interface ExecutionInput {
  /** Execution id: equal to the process id. */
  eid: number;
  /** The source as submitted. */
  code: string;
  options?: ExecutionOptions;
  /** The client's own label of the process, shown to the script as `cyrnel.process.ref`. */
  ref?: string;
  /**
   * JSON data, shown to the script as `cyrnel.input`: at most 1 MiB of text, nested at most 64 levels deep. Absent: none. An integer beyond
   * 2^53 is a RawInteger (`isRawInteger`, `withBigInts`) where the process's `inputSchema` says `integer`, else the nearest number.
   */
  input?: unknown;
  /** The name of the source among the files, which its imports are relative to and errors show. Absent: `script.ts`. */
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
 * Why an execution ended without success. Lines and columns are 1-based and count in the submitted source.
 * Without `reason` the host takes the first reason of the exit state (`script_error`, `timeout`, `killed`).
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

/** How an execution ended, whole. Members that belong to another exit state are left out, or ignored. */
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
 * Asked when an answer is about to become a file. Null: it does now, before anything else is read or written; else what to wait
 * for before asking again.
 */
export type SaveTurn = () => Promise<void> | null;

/** A tool call as an environment passes it on. */
export interface ToolRequest extends Omit<InvokeInput, "files" | "save" | "warn" | "onAnswered"> {
  /** Name of the file of the workspace that the answer is to become. */
  saveAs?: string;
  /** With `saveAs`: so that a repeated execution finds the file when it did before. Absent: at any time. */
  saveTurn?: SaveTurn;
  /** False: an answer that says it failed, as `answer` of the error, is given instead of the error. */
  throwOnError?: false;
}

export interface SavedAnswer {
  /** Answer for the script. */
  answer: unknown;
  /** Size of the saved file, or null if nothing was saved and the answer says why. */
  size: number | null;
}

export type PrintLevel = "debug" | "warn";

/** The execution a request is made for: what it may see depends on who submitted it. */
export interface CallContext {
  eid: number;
}

/**
 * Callbacks of the host for an environment. They may reject with an `Error` that has `name`, `message`, `code` and
 * sometimes `status` and `answer`. An environment passes exactly those on to the script, including the members of
 * `answer`.
 */
export interface EnvironmentBindings {
  /** With `saveAs` it answers a SavedAnswer. */
  invokeTool(input: ToolRequest): Promise<unknown>;
  setState(eid: number, state: ExecutionState): void;
  setError(eid: number, error: string | ErrorDetail): void;
  /** `level`: of a line that was printed with another level than `info` on stdout and `error` on stderr. */
  emitStdout(eid: number, data: Buffer, level?: PrintLevel): void;
  emitStderr(eid: number, data: Buffer, level?: PrintLevel): void;
  /** Shallow merge, later keys win. */
  emitOutput(eid: number, data: Record<string, unknown>): void;
  /** Without `context` only what every execution under way can see is shown. */
  discoverServices(query?: DiscoverServices, context?: CallContext): Promise<ServiceSummary[]>;
  discoverTools(query?: DiscoverTools, context?: CallContext): Promise<FoundTools>;
  getService(id: string, context?: CallContext): Promise<ServiceDetails>;
  getTool(id: { serviceId: string; toolId: string }, context?: CallContext): Promise<ToolDetails>;
  getToolDocs(id: { serviceId: string; toolId: string }, context?: CallContext): Promise<string>;
  /** `call`: which of the execution's calls this is, counted from 1, and a signal that aborts when it is over. */
  ask(
    eid: number,
    request: { message: string; schema?: JSONSchema },
    call?: { seq: number; signal: AbortSignal },
  ): Promise<unknown>;
  /**
   * Fewer bytes than `length` at the end of the file. This and the next four are absent where runs have no files; they reject
   * with `file_not_found` or `invalid_file_name`, or with an error whose `name` is `WorkspaceLimitError`, which has to end the
   * execution as `failed` with `output_limit`.
   */
  readFile?(eid: number, range: { name: string; offset: number; length: number }): Promise<Uint8Array>;
  /** Answers the size of the file, or of what was written so far of it. */
  writeFile?(eid: number, write: FileWrite): Promise<{ size: number }>;
  removeFile?(eid: number, file: { name: string }): Promise<void>;
  /** Answers the size. `moves`: what it was copied from is not there any more. */
  copyFile?(eid: number, copy: { name: string; to: string; moves: boolean }): Promise<{ size: number }>;
  /** Fills added bytes with zeros. Returns the size. */
  resizeFile?(eid: number, file: { name: string; size: number }): Promise<{ size: number }>;
  /**
   * Which package an import of the execution means. `message` is for its author: why there is none, near matches, who may
   * install it. Asked while the source is prepared, not when an execution is repeated. This and the next one are absent where
   * runs have no packages.
   */
  findPackage?(eid: number, request: PackageRequest): Promise<FoundPackage | { message: string }>;
  /** Rejects where there is no such bundle any more. An environment keeps what it has read, and asks again when it has dropped it. */
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
  /** The weakest isolation allowed: an environment that cannot give it throws in `setup`. Absent: `strict`. */
  isolation?: IsolationLevel;
  /** Other machines can reach the server, which then must not run at level `development`: no error should advise it. */
  isExposed?: boolean;
  /** False: every run is to have a process that was booted for it, not forked from a prepared one. */
  zygote?: boolean;
}

export interface ToolDocsInput {
  serviceId: string;
  toolId: string;
  description: string;
  inputSchema: JSONSchema;
  outputSchema: JSONSchema;
}

/** One layer of the isolation of a run, numbered as in docs/security. */
export interface IsolationLayer {
  layer: number;
  name: string;
  required: boolean;
  obtained: boolean;
  /** How the server knows it: by what was observed, not by what was configured. */
  verified: string;
  /** Remedy for a missing layer; absent if the layer is there. */
  fix?: string;
}

export const ISOLATION_LEVELS = ["strict", "standard", "development"] as const;
export type IsolationLevel = (typeof ISOLATION_LEVELS)[number];

export interface IsolationReport {
  /** The strongest level whose required layers were all obtained. */
  level: IsolationLevel;
  layers: IsolationLayer[];
  nodeVersion: string;
  platform: string;
  kernel: string;
}

/** Status of an environment, for placing runs and for `GET /environment`. */
export interface EnvironmentStatus {
  /** How many executions it runs at once. */
  slots: number;
  busy: number;
  /** Started and waiting for an execution. */
  warm: number;
  /** Memory of all its processes together at the moment, where that can be read. Best a getter: most readers want the rest. */
  memoryBytes?: number | undefined;
  limits: { memoryMb: number; maxMemoryMb: number };
  isolation: IsolationReport;
  /**
   * The prepared process that those of runs are forked from: its age, how many it has forked, how many before it were
   * replaced, and how many of those failed. Null: a process is booted for every run at present. Absent: does not apply.
   */
  zygote?: { ageMs: number; forks: number; renewals: number; failures?: number } | null;
}

export interface EnvironmentModule extends Module {
  setup(context: EnvironmentSetupContext): Promise<void>;
  /**
   * Runs the code to its end and answers how it ended; that is final. Never rejects for what the script did. The exit
   * state alone is enough where error, result and usage were reported through the bindings before. Rejects with an `Error`
   * whose `code` is `not_started` where the host is at fault and nothing of the script has run: then it is queued again.
   */
  execute(input: ExecutionInput): Promise<ExecutionOutcome | ExecutionExitState>;
  /** Prompt, idempotent, silent for an unknown id; also while draining. */
  kill(eid: number): Promise<void>;
  /** Markdown for the author of a script. */
  generateDocs(): Promise<string>;
  /** Markdown for one tool. */
  generateToolDocs(input: ToolDocsInput): Promise<string>;
  /**
   * Optional. Freezes an execution between two steps of its script: its clocks stand still, nothing more reaches the script
   * and it holds no slot until `resume` or `kill`. Answers once it is frozen, with what `execute` needs to repeat it
   * up to here in a later process (JSON data), null if it cannot be repeated. Rejects when the execution ended before.
   */
  pause?(eid: number): Promise<unknown>;
  /** Lets a frozen execution go on at once, even if no slot is free. Silent for an unknown id. */
  resume?(eid: number): void;
  /** True: scripts can import installed npm packages, so the host adds a list of them to what `generateDocs` returns. */
  readonly importsPackages?: boolean;
  /** Optional: an environment without it is given any number of executions and queues them itself. */
  status?(): EnvironmentStatus;
}
