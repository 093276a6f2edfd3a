/**
 * What the MCP surface uses of the other features: the same services as HTTP, behind the few operations its tools need.
 * api/mcp-ports.ts fills them. Refusals are AppErrors.
 */
import type { z } from "zod";
import type { LevelSlice } from "#api/processes/live/results.ts";
import type { ProcessRecord, toolCallSchema } from "#api/processes/model/schemas.ts";
import type { ProcessState } from "#api/processes/model/states.ts";
import type { PackageSummary } from "#sdk";
import type { ApprovalRecord } from "../approvals/model.ts";
import type { Caller } from "../http/auth.ts";
import type { CallCaller } from "../tools/contract.ts";
import type { Tools } from "../tools/service.ts";

export type CallTrailEntry = z.output<typeof toolCallSchema>;

/** On whose behalf one HTTP request to the endpoint asks. */
export interface RequestContext {
  caller: Caller;
  requestId: string;
  /** Aborts when the client has gone before it was answered. */
  signal: AbortSignal;
}

export interface Script {
  script: string;
  /** Milliseconds; null: no limit; absent: the default of the server. */
  timeoutMs?: number | null | undefined;
  ref?: string | undefined;
  /** JSON; absent: none. */
  input?: unknown;
  /** By name, as `POST /processes` takes them; absent: none. */
  files?: Record<string, unknown> | undefined;
  /** Of the script among them; absent: script.ts. */
  name?: string | undefined;
}

/** `slices`: its two streams by the level of their lines. */
export type PrintedRecord = ProcessRecord & { slices: Record<"stdout" | "stderr", LevelSlice[]> };

export interface ProcessesPort {
  /** Stores and queues it. Throws what `POST /processes` answers. */
  submit(script: Script, context: RequestContext): Promise<number>;
  /** Throws not_found where the caller may not see it: before everything below. */
  requireVisible(id: number, context: RequestContext): Promise<void>;
  /** Waits until it is idle or paused, for `waitMs` at most. Throws not_found. */
  wait(
    id: number,
    waitMs: number,
    context: RequestContext,
  ): Promise<{ state: ProcessState; approvals: readonly string[] }>;
  read(id: number, context: RequestContext): Promise<PrintedRecord>;
  readCalls(id: number, context: RequestContext): Promise<CallTrailEntry[]>;
  /** A file that the last run left. `bytes`: null where it has more than `maxBytes`. Throws not_found, process_not_idle, storage_unavailable. */
  readArtifact(
    id: number,
    name: string,
    maxBytes: number,
    context: RequestContext,
  ): Promise<{ size: number; contentType: string; bytes: Buffer | null }>;
}

export type Decision =
  | { approved: true; data?: unknown }
  /** `reason` is told to the script. */
  | { approved: false; reason?: string };

export interface ApprovalsPort {
  /** As the caller may see it. Throws not_found. */
  get(id: string, context: RequestContext): Promise<ApprovalRecord>;
  /**
   * On behalf of the caller, who has the scope. Throws not_found, already_decided, approval_expired, self_approval,
   * invalid_request for data that does not fit the schema.
   */
  decide(id: string, decision: Decision, context: RequestContext): Promise<ApprovalRecord>;
}

export interface McpPorts {
  processes: ProcessesPort;
  tools: Pick<Tools, "list" | "search" | "get">;
  /** npm packages that words fit and that scripts of the viewer may import. */
  packages: { search(viewer: CallCaller, words: string): PackageSummary[] };
  approvals: ApprovalsPort;
  /** Whether the caller may not decide, because it submitted the process or started the run. */
  isSelfApproval(approval: Pick<ApprovalRecord, "requestedBy" | "startedBy">, caller: Caller): boolean;
  /** How to write scripts, as Markdown. Throws no_environment, module_failed. */
  readDocs(caller: Caller): Promise<string>;
  /** Whether a caller's key still counts. */
  isLive(caller: Caller): boolean;
  /** Any error as what a client is told, without secrets. */
  describeError(error: unknown): {
    status: number;
    code: string;
    message: string;
    issues?: readonly { path: string; message: string }[];
  };
  log: {
    error(fields: object, message: string): void;
    debug(fields: object, message: string): void;
  };
}
