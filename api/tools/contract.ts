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

/** On whose behalf a tool is looked up or called. Empty in anonymous mode. */
export interface CallCaller {
  keyId?: string;
  /** If missing, no role restricts the caller. */
  roleId?: string;
  /** Who started the run, if not the submitter: a key id, `bootstrap` or `anonymous`. */
  startedBy?: string;
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
  /** Rule that decided. Missing if the default decided. */
  policyId?: string;
}

export interface CallGate {
  /**
   * Returns false if the caller's role hides the tool, which then does not exist for the caller. Must be synchronous
   * and cheap, because it is called for each tool of a listing.
   */
  canSee(caller: CallCaller, path: ToolPath): boolean;
  /** True if no role hides anything from the caller. Such callers also see services without tools. */
  seesAll(caller: CallCaller): boolean;
  /** Rejecting blocks the call. */
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

/** A workspace file named in parameters, as shown to an approver. */
export interface NamedFile {
  name: string;
  size: number;
  contentType: string;
  /** Hexadecimal digest of the content at the time of the call. */
  sha256: string;
}

/** A file that a call sent from the run's workspace or saved to it. */
export interface MovedFile {
  name: string;
  use: "sent" | "saved";
  size: number;
  /** Hexadecimal, or null if the transfer was incomplete. */
  sha256: string | null;
}

export interface AskedCall {
  parameters: Record<string, unknown>;
  files: readonly NamedFile[];
  /** Summary of a `fetch` request: `POST https://api.example.com/v1 with a body of 12 bytes`. */
  request?: string | undefined;
  destructive: boolean;
  policyId?: string | undefined;
}

/** A run's workspace, as one of its calls uses it. */
export interface CallWorkspace {
  files: CallFiles;
  /**
   * File to save the answer to. If missing, the script gets the answer. `save` rejects if the file cannot be written.
   */
  saveAs?: { name: string; save(bytes: AsyncIterable<Uint8Array>): Promise<{ size: number }> };
}

export interface ToolCall extends ToolPath {
  parameters: Record<string, unknown>;
  caller: CallCaller;
  workspace?: CallWorkspace | undefined;
  /** Aborts when the run ends or is killed, or when the client of a direct call disconnects. */
  signal?: AbortSignal | undefined;
  /**
   * True if an approver was asked about this call before the run was replayed. Takes precedence over a policy that
   * allows the call.
   */
  wasAsked?: boolean | undefined;
  /** Clock of the run's trail. Defaults to a new one. */
  clock?: CallClock | undefined;
  warn?: InvokeInput["warn"] | undefined;
  openStream?: OpenStream | undefined;
  onAnswered?: ((httpStatus: number) => void) | undefined;
  /** If false, an answer that reports a failure is returned as the result. The outcome is still `error`. */
  throwOnError?: boolean | undefined;
}

/** A call in progress. Tool and parameters change when a `fetch` request is resolved to its tool. */
export interface OpenCall extends ToolPath, Pick<ToolCall, "parameters"> {
  /** Aborts with a CallError when the call is canceled or times out. */
  readonly signal: AbortSignal;
}

/** A call in progress, as its steps change it. Private to api/tools. */
export interface CallInProgress extends OpenCall, Pick<ToolCall, "caller" | "workspace"> {
  readonly given: ToolCall;
  /** Account whose limits apply to the call and whose parameter checks it is queued with. */
  readonly accountName: string;
  readonly clock: CallClock;
  /** `sent`: the adapter is being called. `streaming`: the script has the answer and reads its body. */
  phase: "planning" | "waiting" | "sent" | "streaming" | "over";
  decision: GateDecision | null;
  readonly moved: MovedFile[];
  httpStatus: number | null;
  /** Limits waits for a streamed body. */
  readonly timer: Timer;
  /** Releases the room taken up by the call. Idempotent. */
  end(): void;
}

export interface CallPlan {
  readonly call: OpenCall;
  readonly destructive: boolean;
  /** Details that an approver must agree to before the call is performed, or null if no approval is needed. */
  readonly asked: AskedCall | null;
}

/**
 * The steps of a tool call: `open ► plan ► (approval ► plan again) ► perform`. If a step fails, the call is over and
 * recorded, and the step rejects with a CallError.
 */
export interface ToolCalls {
  /** Reserves room for the call and starts its timer. Throws CallError `too_many_calls`. */
  open(call: ToolCall): OpenCall;
  /**
   * Plans a call. While the plan waits for approval, the call has no timer and takes up no room. `approved` is that
   * plan, once an approver has agreed to it.
   */
  plan(call: OpenCall, approved?: CallPlan): Promise<CallPlan>;
  /** Resolves with the result as JSON data. */
  perform(plan: CallPlan): Promise<unknown>;
  /** Ends a call that must not be performed, and returns the error to throw. */
  refuse(call: OpenCall, refusal: CallRefusal): Error;
}

/** Tools as scripts see them. The signals abort when the run ends. */
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

/**
 * How a call ended, in the trail and in metrics. `unknown`: it was sent, but abandoned before the service responded.
 */
export type CallOutcome = "ok" | "error" | "denied" | "canceled" | "unknown";

export interface CallRecord extends ToolPath {
  caller: CallCaller;
  parameters: Record<string, unknown>;
  /** Files sent from the workspace or saved to it before the call ended. */
  files: readonly MovedFile[];
  /** Null if the call was rejected before the policies were consulted. */
  decision: GateDecision | null;
  outcome: CallOutcome;
  code: string | null;
  httpStatus: number | null;
  durationMs: number;
  waitedMs: number;
}

export interface CallLimits {
  /** Time limit of a call, excluding time spent waiting for an approval. */
  invokeTimeoutMs: number;
  maxResultBytes: number;
  maxInFlightPerCaller: number;
  maxInFlight: number;
}
