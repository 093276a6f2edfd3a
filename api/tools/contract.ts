/** Types of a tool call: who calls, what is called, what roles and policies decide about it, and how it ended. */

import type { Timer } from "#modules/shared/limits.ts";
import type {
  CallFiles,
  DiscoverServices,
  DiscoverTools,
  InvokeInput,
  OpenStream,
  ServiceDetails,
  ServiceSummary,
  ToolDetails,
  ToolSummary,
} from "#sdk";
import type { CallClock } from "../bounds/call-clock.ts";

/** On whose behalf a tool is looked for or called. Empty in anonymous mode. */
export interface CallCaller {
  /** The API key that asks, or that created the process. */
  keyId?: string;
  /** That key's role. Without one, no role restricts the caller. */
  roleId?: string;
  /** Who started the run, if that is not who submitted the process: a key id, `bootstrap` or `anonymous`. */
  startedBy?: string;
  /** The process whose run calls. A direct call has none. */
  processId?: number;
}

export interface ToolPath {
  serviceId: string;
  toolId: string;
}

export const DECISIONS = ["allow", "ask", "block"] as const;
export type Decision = (typeof DECISIONS)[number];

export interface GateDecision {
  decision: Decision;
  /** The rule that decided. Absent if the default did. */
  policyId?: string;
}

export interface CallGate {
  /** A tool that the caller's role hides does not exist for the caller. Synchronous and cheap: called for each tool of a listing. */
  canSee(caller: CallCaller, path: ToolPath): boolean;
  /** True if no role hides anything from the caller, who then also sees services without tools. */
  seesAll(caller: CallCaller): boolean;
  /** A rejection blocks the call. */
  decide(caller: CallCaller, call: ToolPath & { destructive: boolean }): Promise<GateDecision>;
}

/** Why a call that needed an approval is not made. */
export interface CallRefusal {
  failure:
    | "approval_unavailable"
    | "approval_denied"
    | "approval_expired"
    | "too_many_approvals"
    | "call_unavailable";
  message: string;
}

/** A workspace file that parameters name, as an approver is shown it. */
export interface NamedFile {
  name: string;
  /** Bytes. */
  size: number;
  contentType: string;
  /** Hexadecimal digest of the content at the time of the call. */
  sha256: string;
}

/** A file that a call sent from the run's workspace or saved to it. */
export interface MovedFile {
  name: string;
  use: "sent" | "saved";
  /** Bytes transferred. */
  size: number;
  /** Hexadecimal, or null if the transfer was incomplete. */
  sha256: string | null;
}

/** What an approver is shown of a call. */
export interface AskedCall {
  /** With defaults filled in. */
  parameters: Record<string, unknown>;
  /** Files that the parameters name. */
  files: readonly NamedFile[];
  /** Summary of a `fetch` request: `POST https://api.example.com/v1 with a body of 12 bytes`. */
  request?: string | undefined;
  destructive: boolean;
  policyId?: string | undefined;
}

/** The workspace of a run, as one of its calls uses it. */
export interface CallWorkspace {
  files: CallFiles;
  /** The file that the answer becomes. Without it the script gets the answer. `save` rejects if the file cannot be written. */
  saveAs?: { name: string; save(bytes: AsyncIterable<Uint8Array>): Promise<{ size: number }> };
}

export interface ToolCall extends ToolPath {
  parameters: Record<string, unknown>;
  caller: CallCaller;
  /** Absent for a direct call. */
  workspace?: CallWorkspace | undefined;
  /** Aborts when the run ends or is killed, or the client of a direct call disconnects. */
  signal?: AbortSignal | undefined;
  /** An approver was asked about this very call before the run was replayed. That outranks a policy that allows it. */
  wasAsked?: boolean | undefined;
  /** The clock of the run's trail. Default: a new one. */
  clock?: CallClock | undefined;
  /** Adds a warning to the run. Absent for a direct call. */
  warn?: InvokeInput["warn"] | undefined;
  /** Lets the script read the body of a `fetch` response while it arrives. */
  openStream?: OpenStream | undefined;
  /** Reports the HTTP status of the service's response. */
  onAnswered?: ((httpStatus: number) => void) | undefined;
  /** If false, an answer that says it failed is the call's result; its outcome is still `error`. */
  throwOnError?: boolean | undefined;
}

/** A call in progress. Tool and parameters change when a `fetch` request is resolved to its tool. */
export interface OpenCall extends ToolPath, Pick<ToolCall, "parameters"> {
  /** Aborts with a CallError when the call is canceled or times out. */
  readonly signal: AbortSignal;
}

/** A call in progress, as its steps change it. Private to api/tools. */
export interface CallInProgress extends OpenCall, Pick<ToolCall, "caller" | "workspace"> {
  /** The call as the caller made it. */
  readonly given: ToolCall;
  /** Whose limits, and whose turn among parameter checks, the call counts against. */
  readonly accountName: string;
  readonly clock: CallClock;
  /** `sent`: the adapter is called. `streaming`: the script has the answer and reads its body. */
  phase: "planning" | "waiting" | "sent" | "streaming" | "over";
  /** The first decision, for the record. */
  decision: GateDecision | null;
  /** Files sent and saved so far. */
  readonly moved: MovedFile[];
  /** Status of the service's last response. */
  httpStatus: number | null;
  /** Limits the waits for a streamed body. */
  readonly timer: Timer;
  /** Gives the room of the call back. Idempotent. */
  end(): void;
}

/** A call that passed visibility, policy and validation. */
export interface CallPlan {
  readonly call: OpenCall;
  readonly destructive: boolean;
  /** The call must not be performed before an approver has agreed to exactly this. Null if no approval is needed. */
  readonly asked: AskedCall | null;
}

/**
 * A tool call in steps: `open ► plan ► (approval ► plan again) ► perform`. When a step fails, the call is over and recorded, and
 * the step rejects with a CallError.
 */
export interface ToolCalls {
  /** Reserves room for the call and starts its timer. Throws CallError `too_many_calls`. */
  open(call: ToolCall): OpenCall;
  /** While a plan waits for approval its call has no timer and no room. `approved` is that plan, once an approver has agreed. */
  plan(call: OpenCall, approved?: CallPlan): Promise<CallPlan>;
  /** Resolves with the result as JSON data. */
  perform(plan: CallPlan): Promise<unknown>;
  /** Ends a call that is not to be performed, and returns the error to throw. */
  refuse(call: OpenCall, refusal: CallRefusal): Error;
}

/** Tools as scripts see them. The signals abort when the run is over. */
export interface ToolHost extends ToolCalls {
  discoverServices(
    query: DiscoverServices,
    caller: CallCaller,
    signal: AbortSignal,
  ): Promise<ServiceSummary[]>;
  discoverTools(query: DiscoverTools, caller: CallCaller, signal: AbortSignal): Promise<ToolSummary[]>;
  getService(id: string, caller: CallCaller, signal: AbortSignal): Promise<ServiceDetails>;
  getTool(path: ToolPath, caller: CallCaller, signal: AbortSignal): Promise<ToolDetails>;
  getToolDocs(path: ToolPath, caller: CallCaller, signal: AbortSignal): Promise<string>;
}

/** How a call ended, in the trail and in metrics. `unknown`: it was sent, and abandoned before the service responded. */
export type CallOutcome = "ok" | "error" | "denied" | "canceled" | "unknown";

/** A call that has ended. */
export interface CallRecord extends ToolPath {
  caller: CallCaller;
  /** As given by the caller. */
  parameters: Record<string, unknown>;
  /** Files sent from the workspace or saved to it, as far as the call got. */
  files: readonly MovedFile[];
  /** Null if the call was refused before the policies were consulted. */
  decision: GateDecision | null;
  outcome: CallOutcome;
  /** The error code if the outcome is not `ok`. */
  code: string | null;
  /** Status of the service's response, or null if there was none or not over HTTP. */
  httpStatus: number | null;
  /** Excludes `waitedMs`. */
  durationMs: number;
  /** Time spent waiting for an approval. */
  waitedMs: number;
}

export interface CallLimits {
  /** Excludes time spent waiting for an approval. */
  invokeTimeoutMs: number;
  maxResultBytes: number;
  /** Calls of one process, or of one key outside of processes. */
  maxInFlightPerCaller: number;
  /** All calls of this server, except those that wait for an approval. */
  maxInFlight: number;
}
