/** A tool call in progress: its room on this server, its timer, and what its record will say. */
import type { Timer } from "#modules/shared/limits.ts";
import type { CallClock } from "../bounds/call-clock.ts";
import type {
  CallCaller,
  CallLimits,
  CallWorkspace,
  GateDecision,
  MovedFile,
  OpenCall,
  ToolCall,
} from "./contract.ts";
import { refuseCall, refuseLate, refuseSlot } from "./failure.ts";

/** `sent`: the adapter is called. `streaming`: the script has the answer and reads its body. */
type CallPhase = "planning" | "waiting" | "sent" | "streaming" | "over";

/** Counts the calls of this server against its limits. */
export class CallRoom {
  readonly limits: CallLimits;
  readonly #byAccount = new Map<string, number>();
  /** Without calls that wait for an approval. */
  inFlight = 0;

  constructor(limits: CallLimits) {
    this.limits = limits;
  }

  /** Throws CallError `too_many_calls`. */
  enter(account: string, caller: CallCaller): void {
    const { limits } = this;
    const own = this.#byAccount.get(account) ?? 0;
    if (own >= limits.maxInFlightPerCaller || this.inFlight >= limits.maxInFlight) {
      throw refuseSlot(limits, own, caller.processId === undefined ? "key" : "process");
    }
    this.#byAccount.set(account, own + 1);
    this.inFlight += 1;
  }

  leave(account: string): void {
    const left = (this.#byAccount.get(account) ?? 1) - 1;
    if (left === 0) this.#byAccount.delete(account);
    else this.#byAccount.set(account, left);
  }
}

export class CallState implements OpenCall {
  readonly given: ToolCall;
  readonly caller: CallCaller;
  readonly clock: CallClock;
  /** Whose limits, and whose turn among parameter checks, the call counts against. */
  readonly accountName: string;
  serviceId: string;
  toolId: string;
  parameters: Record<string, unknown>;
  workspace: CallWorkspace | undefined;
  phase: CallPhase = "planning";
  /** The first decision, for the record. */
  decision: GateDecision | null = null;
  /** Files sent and saved so far. */
  readonly moved: MovedFile[] = [];
  /** Status of the service's last response. */
  httpStatus: number | null = null;
  /** Limits the waits for a streamed body. */
  readonly timer: Timer = { stop: () => this.#stopTimer(), restart: () => this.#startTimer() };
  readonly #room: CallRoom;
  readonly #ended = new AbortController();
  readonly #cancel = () => this.#ended.abort(refuseCall("call_canceled", "The call was canceled."));
  #timer: NodeJS.Timeout | undefined;

  /** Throws CallError `too_many_calls`. */
  constructor(given: ToolCall, clock: CallClock, room: CallRoom) {
    const { serviceId, toolId, parameters, caller, workspace, signal } = given;
    this.given = given;
    this.caller = caller;
    this.clock = clock;
    this.accountName = nameAccount(caller);
    this.serviceId = serviceId;
    this.toolId = toolId;
    this.parameters = parameters;
    this.workspace = workspace;
    this.#room = room;
    room.enter(this.accountName, caller);
    signal?.addEventListener("abort", this.#cancel, { once: true });
    if (signal?.aborted) this.#cancel();
    this.#startTimer();
  }

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** An approver is asked: days may pass, in which the call takes no room and has no time limit. */
  wait(): void {
    this.phase = "waiting";
    this.clock.wait();
    this.#stopTimer();
    this.#room.inFlight -= 1;
  }

  resume(): void {
    this.phase = "planning";
    this.clock.resume();
    this.#room.inFlight += 1;
    this.#startTimer();
  }

  /** Gives the room back. Idempotent. */
  end(): void {
    if (this.phase === "over") return;
    if (this.phase !== "waiting") this.#room.inFlight -= 1;
    this.phase = "over";
    this.#stopTimer();
    this.#room.leave(this.accountName);
    this.given.signal?.removeEventListener("abort", this.#cancel);
  }

  #startTimer(): void {
    this.#stopTimer();
    if (this.phase === "over") return;
    const { invokeTimeoutMs } = this.#room.limits;
    this.#timer = setTimeout(() => this.#ended.abort(refuseLate(invokeTimeoutMs)), invokeTimeoutMs);
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
  }
}

function nameAccount({ processId, keyId }: CallCaller): string {
  return processId !== undefined ? `process ${processId}` : `key ${keyId ?? ""}`;
}
