/** Options and members of a local runtime. Types only, so that they can be named where it cannot run. */
import type { paths } from "../schema.ts";
import type { ElicitationEngine } from "./elicitation.ts";
import type { ExecuteOptions, ExecutionResult, Runtime } from "./model.ts";
import type { SearchQuery } from "./proxy.ts";

type JsonSchema = Record<string, unknown>;

/** The isolation report of `GET /environment`. */
export type IsolationReport = NonNullable<
  paths["/environment"]["get"]["responses"][200]["content"]["application/json"]["isolation"]
>;

/** The call that a tool is called for. */
export interface CallContext {
  processId: number;
  /** Number of the call within the run, from 1. */
  seq: number;
  /** Aborts when the run is over. */
  signal: AbortSignal;
  /** The files of the run as they were when the script made the call. */
  files: CallFiles;
}

/** `open` rejects with code `file_not_found`; `stream` begins anew each time. `size` in bytes. */
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
  /** Invalid parameters are refused before the tool is called. */
  inputSchema?: JsonSchema;
  outputSchema?: JsonSchema;
  /** True if a call may change something. By default it then needs approval, if there is an elicitation engine. */
  destructive?: boolean;
  /** Default: the runtime's `invoke`. */
  invoke?: ToolFunction;
}

/**
 * `{ mail: { send } }`, `{ github: { issues: { list } } }`, or `{ "mail.send": send }`. A function `fetch` at the top is what `fetch` of a
 * script calls, with `{ url, method, headers, body?, redirect? }`; it answers a `Response`.
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
  /** Either of the two says that scripts run in this program. */
  local?: true;
  runtime?: "local";
  /** The tools there are. Without it, and with `invoke`, any path is a tool. */
  tools?: readonly LocalTool[] | ToolTree;
  /** Calls the tools that have no function of their own. */
  invoke?: (path: string, args: Record<string, unknown>, context: CallContext) => unknown;
  /** In place of the search over `tools`. Tools outside the role are taken out of what it answers. */
  searchTools?: (query: SearchQuery) => readonly FoundTool[] | Promise<readonly FoundTool[]>;
  /** In place of what `tools` say of a tool. */
  describeTools?: (path: string) => Partial<LocalTool> | Promise<Partial<LocalTool>>;
  /**
   * Patterns over `service.tool` as in roles of a server: deny wins, an empty `allow` allows nothing. `patterns` is another
   * name of `allow`. Absent: all tools.
   */
  role?: ({ allow: readonly string[] } | { patterns: readonly string[] }) & {
    deny?: readonly string[];
    id?: string;
    name?: string;
  };
  /** Asks a person before some calls. Absent: no call waits, and a question of a script is refused. */
  elicitation?: ElicitationEngine;
  /** The least isolation of each run; where it is not available, `execute` rejects. Default: `strict`. */
  isolation?: "strict" | "standard" | "development";
  /**
   * Folder whose node_modules, and those above it up to `root` (default: the folder itself), hold the packages that
   * scripts import. Nothing outside of `root` is read. Without it, scripts have no packages.
   */
  packages?: { folder: string; root?: string };
  /** About how many scripts will be run. Many are started faster, after some preparation. Default: 1. */
  expectedRuns?: number;
  /** Settings of the environment, as `GET /modules/typescript-process/config/schema` describes them. */
  environment?: Record<string, unknown>;
}

/** A file in place of its content: read in pieces, as the script reads it. `size` in bytes. */
export interface LocalFile {
  size: number;
  /** Default: follows from the extension of the name. */
  contentType?: string;
  /** Fewer bytes than `length` only at the end. */
  read(offset: number, length: number): Promise<Uint8Array>;
}

export interface LocalExecuteOptions extends ExecuteOptions {
  /** Files that the script finds as `cyrnel.files`, by name: at most 1,000, 64 MiB together. */
  files?: Readonly<Record<string, string | Uint8Array | LocalFile>>;
  /** The name of the script among its files, which its imports are relative to. Default: script.ts. */
  name?: string;
  /** In place of the runtime's `packages`, which must be set. */
  packages?: NonNullable<LocalOptions["packages"]>;
  /** Takes each file that the script wrote, one after another, before the run is answered. Absent: they are dropped. */
  onArtifact?: (name: string, artifact: Required<LocalFile>) => Promise<void> | void;
  /** `cyrnel.process.id` of the script and `processId` of its calls. Default: counted from 1. */
  processId?: number;
  /** Kept of each stream; the rest is cut off, and the last line says so. Default: 1 MiB. */
  maxStdoutBytes?: number;
  maxStderrBytes?: number;
}

export interface LocalRuntime extends Runtime {
  execute(script: string, options?: LocalExecuteOptions): Promise<ExecutionResult>;
  /**
   * How the run of a call goes on that was decided by `ElicitationEngine.resolve` in place of `resolve`: its next pause
   * or its end. Rejects for a call that none of the latest runs made.
   */
  outcome(executionId: string): Promise<ExecutionResult>;
  /** The isolation of each run, as observed. */
  isolation(): Promise<IsolationReport>;
  /** Markdown for the author of a script. */
  docs(): Promise<string>;
  /** Places in use and limits, as `GET /environment` has them. */
  status(): Promise<{
    slots: number;
    busy: number;
    warm: number;
    limits: { memoryMb: number; maxMemoryMb: number };
  }>;
}
