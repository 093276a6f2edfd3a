/** Options and members of a local runtime. Types only, so that they can be imported where it cannot run. */
import type { paths } from "../schema.ts";
import type { ElicitationEngine } from "./elicitation.ts";
import type { ExecuteOptions, ExecutionResult, Runtime } from "./model.ts";
import type { SearchQuery } from "./proxy.ts";

type JsonSchema = Record<string, unknown>;

/** The isolation report of `GET /environment`. */
export type IsolationReport = NonNullable<
  paths["/environment"]["get"]["responses"][200]["content"]["application/json"]["isolation"]
>;

export interface CallContext {
  processId: number;
  /** Number of the call within the run, from 1. */
  seq: number;
  /** Aborts when the run ends. */
  signal: AbortSignal;
  /** The run's files as they were when the script made the call. */
  files: CallFiles;
}

/** `open` rejects with code `file_not_found`; `stream` starts from the beginning each time. `size` is in bytes. */
export interface CallFiles {
  open(name: string): Promise<{ size: number; contentType: string; stream(): AsyncIterable<Uint8Array> }>;
}

// biome-ignore lint/suspicious/noExplicitAny: the parameters of a tool are what its own schema says.
export type ToolFunction = (args: any, context: CallContext) => unknown;

export interface LocalTool {
  /** `service.tool` or `service.group.tool`: identifiers, at most 8 after the service. */
  path: string;
  name?: string;
  description?: string;
  /** Invalid parameters are rejected before the tool is called. */
  inputSchema?: JsonSchema;
  outputSchema?: JsonSchema;
  /** True if a call may change something. With an elicitation engine, such calls need approval by default. */
  destructive?: boolean;
  /** Default: the runtime's `invoke`. */
  invoke?: ToolFunction;
}

/**
 * `{ mail: { send } }`, `{ github: { issues: { list } } }`, or `{ "mail.send": send }`. A top-level function `fetch`
 * handles the script's `fetch` calls: it gets `{ url, method, headers, body?, redirect? }` and returns a `Response`.
 */
export interface ToolTree {
  readonly [name: string]: ToolFunction | ToolTree;
}

export interface FoundTool {
  serviceId: string;
  id: string;
  path?: string;
  name: string;
  description: string;
  score?: number;
  signature?: string;
}

export interface LocalOptions {
  /** Either of the two selects the local runtime. */
  local?: true;
  runtime?: "local";
  /** Available tools. If absent and `invoke` is set, any path is a tool. */
  tools?: readonly LocalTool[] | ToolTree;
  /** Calls tools that have no function of their own. */
  invoke?: (path: string, args: Record<string, unknown>, context: CallContext) => unknown;
  /** Replaces the search over `tools`. Tools outside the role are removed from its results. */
  searchTools?: (query: SearchQuery) => readonly FoundTool[] | Promise<readonly FoundTool[]>;
  /** Replaces the descriptions in `tools`. */
  describeTools?: (path: string) => Partial<LocalTool> | Promise<Partial<LocalTool>>;
  /**
   * Patterns for `service.tool`, as in server roles: deny wins, and an empty `allow` allows nothing. `patterns` is an
   * alias of `allow`. If absent, all tools are allowed.
   */
  role?: ({ allow: readonly string[] } | { patterns: readonly string[] }) & {
    deny?: readonly string[];
    id?: string;
    name?: string;
  };
  /** Requests approval for some calls. If absent, no call waits, and a script's question is rejected. */
  elicitation?: ElicitationEngine;
  /** Minimum isolation of each run; `execute` rejects if it is not available. Default: `strict`. */
  isolation?: "strict" | "standard" | "development";
  /**
   * Scripts import packages from node_modules in `folder` and the folders above it up to `root` (default: `folder`
   * itself). Nothing outside `root` is read. If absent, scripts have no packages.
   */
  packages?: { folder: string; root?: string };
  /**
   * Approximate number of scripts to run. A large number prepares a process from which runs start faster. Default: 1.
   */
  expectedRuns?: number;
  /** Environment settings, as described by `GET /modules/typescript-process/config/schema`. */
  environment?: Record<string, unknown>;
}

/** A file that is read in pieces, as the script reads it. `size` is in bytes. */
export interface LocalFile {
  size: number;
  /** Default: derived from the file name's extension. */
  contentType?: string;
  /** Returns fewer bytes than `length` only at the end. */
  read(offset: number, length: number): Promise<Uint8Array>;
}

export interface LocalExecuteOptions extends ExecuteOptions {
  /** Files available to the script as `cyrnel.files`, by name: at most 1,000 files and 64 MiB in total. */
  files?: Readonly<Record<string, string | Uint8Array | LocalFile>>;
  /** The script's name among its files; its imports are relative to it. Default: script.ts. */
  name?: string;
  /** Replaces the runtime's `packages`, which must be set. */
  packages?: NonNullable<LocalOptions["packages"]>;
  /**
   * Receives each file that the script wrote, one after another, before `execute` resolves. If absent, they are
   * dropped.
   */
  onArtifact?: (name: string, artifact: Required<LocalFile>) => Promise<void> | void;
  /** The script's `cyrnel.process.id` and its calls' `processId`. Default: counts up from 1. */
  processId?: number;
  /** Maximum bytes kept per stream; the rest is cut, and the last line says so. Default: 1 MiB. */
  maxStdoutBytes?: number;
  maxStderrBytes?: number;
}

export interface LocalRuntime extends Runtime {
  execute(script: string, options?: LocalExecuteOptions): Promise<ExecutionResult>;
  /**
   * Returns the next pause or the end of a run whose call was decided with `ElicitationEngine.resolve` instead of the
   * runtime's `resolve`. Rejects if no recent run made the call.
   */
  outcome(executionId: string): Promise<ExecutionResult>;
  /** Returns the isolation of each run, as observed. */
  isolation(): Promise<IsolationReport>;
  /** Returns Markdown documentation for script authors. */
  docs(): Promise<string>;
  /** Returns slots in use and limits, like `GET /environment`. */
  status(): Promise<{
    slots: number;
    busy: number;
    warm: number;
    limits: { memoryMb: number; maxMemoryMb: number };
  }>;
}
