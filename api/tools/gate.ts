/** A tool call as types: who calls, what is called, what roles and policies answer about it, and how it ended. */
import type { CallFiles, InvokeInput, OpenStream } from "#sdk";
import type { CallClock } from "../bounds/call-clock.ts";

/** On whose behalf a tool is looked for or called. Empty in anonymous mode. */
export interface CallCaller {
  /** The API key that asks, or that created the process. */
  keyId?: string;
  /** That key's role; absent: no role restricts it. */
  roleId?: string;
  /** Who started the run, where it is not who submitted the process: the id of a key, `bootstrap` or `anonymous`. */
  startedBy?: string;
  /** The process whose run calls; absent for a direct call. */
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
  /** The rule that decided; absent for the default. */
  policyId?: string;
}

export interface CallGate {
  /** Whether the caller's role shows the tool. What it hides does not exist for the caller. Synchronous and cheap: asked for each tool of a listing. */
  canSee(caller: CallCaller, path: ToolPath): boolean;
  /** Whether no role hides anything from the caller: then it sees services without tools too. */
  seesAll(caller: CallCaller): boolean;
  /** What the policies say about a call. A rejection blocks the call. */
  decide(caller: CallCaller, call: ToolPath & { destructive: boolean }): Promise<GateDecision>;
}

/** Every tool is visible and every call allowed. */
export const OPEN_GATE: CallGate = {
  canSee: () => true,
  seesAll: () => true,
  decide: async () => ({ decision: "allow" }),
};

/** Why a call that was to be asked about is not made. */
export interface CallRefusal {
  failure:
    | "approval_unavailable"
    | "approval_denied"
    | "approval_expired"
    | "too_many_approvals"
    | "call_unavailable";
  message: string;
}

/** A file that parameters name, as a person is shown it. */
export interface NamedFile {
  name: string;
  /** Bytes. */
  size: number;
  contentType: string;
  /** Of the content as it was at the call, in hexadecimal. */
  sha256: string;
}

/** A file that a call has sent or saved. */
export interface MovedFile {
  name: string;
  /** From the workspace of the run, or to it. */
  use: "sent" | "saved";
  /** Bytes that went. */
  size: number;
  /** Hexadecimal; null: not all of it went. */
  sha256: string | null;
}

/** What a person is asked about. */
export interface AskedCall {
  /** Defaults filled in. */
  parameters: Record<string, unknown>;
  /** Those that the parameters name. */
  files: readonly NamedFile[];
  /** Of a request of `fetch`: `POST https://api.example.com/v1 with a body of 12 bytes`. */
  request?: string | undefined;
  destructive: boolean;
  policyId?: string | undefined;
}

/** A call as part of a run: who decides whether it may be made, and the record that keeps it from being made twice. */
export interface CallInRun {
  /** Whether a person was asked about this very call, before the run was repeated: that counts more than a policy that allows it. */
  readonly isAsked: boolean;
  /** Waits until a person has decided; null: approved. */
  approve(asked: AskedCall, signal: AbortSignal): Promise<CallRefusal | null>;
  /** Right before the adapter is called; a refusal or rejection means that it must not be. */
  begin(tool: { destructive: boolean }): Promise<CallRefusal | null>;
}

/** The workspace of a run, as one of its calls uses it. */
export interface CallWorkspace {
  files: CallFiles;
  /** Where the answer goes; absent: to the script. Rejects where it cannot be written. */
  saveAs?: { name: string; save(bytes: AsyncIterable<Uint8Array>): Promise<{ size: number }> };
}

export interface ToolCall extends ToolPath {
  parameters: Record<string, unknown>;
  caller: CallCaller;
  /** Absent for a direct call. */
  workspace?: CallWorkspace | undefined;
  /** Aborts when the run is killed or over, or the client of a direct call has gone. */
  signal?: AbortSignal | undefined;
  /** Absent for a direct call: there is no run that could wait for an approval. */
  run?: CallInRun | undefined;
  /** The clock of the run's trail; default: a new one. */
  clock?: CallClock | undefined;
  /** Told which tool makes a request of `fetch`, and with which parameters. */
  onResolved?: ((path: ToolPath, parameters: ToolCall["parameters"]) => void) | undefined;
  /** Adds a warning to the run; absent for a direct call. */
  warn?: InvokeInput["warn"] | undefined;
  /** How the script reads the body of an answer to \`fetch\` while it comes. */
  openStream?: OpenStream | undefined;
  /** Told the HTTP status of the service's answer, where it had one. */
  onAnswered?: ((httpStatus: number) => void) | undefined;
  /** False: an answer that says it failed is the result of the call, whose outcome is `error` nevertheless. */
  throwOnError?: boolean | undefined;
}

/** Of a call that has ended, as the trail and the metrics state it. `unknown`: it was sent, and given up before it was answered. */
export type CallOutcome = "ok" | "error" | "denied" | "canceled" | "unknown";

/** A call that has ended. */
export interface CallRecord extends ToolPath {
  caller: CallCaller;
  /** As they were given. */
  parameters: Record<string, unknown>;
  /** Sent from the workspace and saved to it, as far as that came. */
  files: readonly MovedFile[];
  /** Null: the call was refused before the policies were asked. */
  decision: GateDecision | null;
  outcome: CallOutcome;
  /** The error code where the outcome is not `ok`. */
  code: string | null;
  /** What the service answered with; null: nothing, or not over HTTP. */
  httpStatus: number | null;
  /** Without `waitedMs`, the time spent waiting for an approval. */
  durationMs: number;
  waitedMs: number;
}

export interface CallLimits {
  /** Of the call itself; time spent waiting for an approval is not counted. */
  invokeTimeoutMs: number;
  maxResultBytes: number;
  /** Calls of one process, or of one key outside of processes. */
  maxInFlightPerCaller: number;
  /** All calls of this server, without those that wait for an approval. */
  maxInFlight: number;
}
