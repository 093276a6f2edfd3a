/**
 * Operations that MCP tools need from other features. api/mcp-ports.ts implements them with the services that HTTP
 * uses. Failures are AppErrors.
 */
import type { z } from "zod";
import type { LevelSlice } from "#api/processes/live/streams.ts";
import type { toolCallSchema } from "#api/processes/model/event-schemas.ts";
import type { ProcessRecord } from "#api/processes/model/schemas.ts";
import type { ProcessState } from "#api/processes/model/states.ts";
import type { PackageSummary } from "#sdk";
import type { ApprovalRecord } from "../approvals/model.ts";
import type { Caller } from "../http/auth.ts";
import type { CallCaller } from "../tools/contract.ts";
import type { Tools } from "../tools/service.ts";

export type CallTrailEntry = z.output<typeof toolCallSchema>;

export interface RequestContext {
  caller: Caller;
  requestId: string;
  /** Aborts if the client disconnects early. */
  signal: AbortSignal;
}

export interface Script {
  script: string;
  /** Milliseconds; null means no limit, undefined means the server's default. */
  timeoutMs?: number | null | undefined;
  ref?: string | undefined;
  input?: unknown;
  /** Files by name, as in `POST /processes`. */
  files?: Record<string, unknown> | undefined;
  /** Name of the script among the files; script.ts by default. */
  name?: string | undefined;
}

/** `slices` divides both streams by the level of their lines. */
export type PrintedRecord = ProcessRecord & { slices: Record<"stdout" | "stderr", LevelSlice[]> };

export interface ProcessesPort {
  /** Stores and queues the script. Throws the same errors as `POST /processes`. */
  submit(script: Script, context: RequestContext): Promise<number>;
  /** Throws not_found if the caller may not see the process. Call before every other method. */
  requireVisible(id: number, context: RequestContext): Promise<void>;
  /** Waits at most `waitMs` until the process is idle or paused. Throws not_found. */
  wait(
    id: number,
    waitMs: number,
    context: RequestContext,
  ): Promise<{ state: ProcessState; approvals: readonly string[] }>;
  read(id: number, context: RequestContext): Promise<PrintedRecord>;
  readCalls(id: number, context: RequestContext): Promise<CallTrailEntry[]>;
  /**
   * Reads an artifact of the last run; `bytes` is null if it exceeds `maxBytes`. Throws not_found, process_not_idle,
   * storage_unavailable.
   */
  readArtifact(
    id: number,
    name: string,
    maxBytes: number,
    context: RequestContext,
  ): Promise<{ size: number; contentType: string; bytes: Buffer | null }>;
}

export type Decision = { approved: true; data?: unknown } | { approved: false; reason?: string };

export interface ApprovalsPort {
  /** Returns the approval as the caller may see it. Throws not_found. */
  get(id: string, context: RequestContext): Promise<ApprovalRecord>;
  /**
   * Throws not_found, already_decided, approval_expired, self_approval, and invalid_request if the data does not
   * match the schema. The caller must have the scope.
   */
  decide(id: string, decision: Decision, context: RequestContext): Promise<ApprovalRecord>;
}

export interface McpPorts {
  processes: ProcessesPort;
  tools: Pick<Tools, "list" | "search" | "get">;
  /** Finds npm packages that match the words and that the viewer's scripts may import. */
  packages: { search(viewer: CallCaller, words: string): PackageSummary[] };
  approvals: ApprovalsPort;
  /** True if the caller submitted the process or started the run and so may not decide. */
  isSelfApproval(approval: Pick<ApprovalRecord, "requestedBy" | "startedBy">, caller: Caller): boolean;
  /** Returns the script guide as Markdown. Throws no_environment, module_failed. */
  readDocs(caller: Caller): Promise<string>;
  isLive(caller: Caller): boolean;
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
