/** The single path of every tool call: open ► plan ► perform. Records each call once, when it has ended. */
import type { Timer } from "#modules/shared/limits.ts";
import { CallClock, RUN_LEFT } from "../bounds/call-clock.ts";
import type { Redactor } from "../secrets/redactor.ts";
import type {
  CallCaller,
  CallInProgress,
  CallLimits,
  CallOutcome,
  CallRecord,
  CallWorkspace,
  GateDecision,
  MovedFile,
  ToolCall,
  ToolCalls,
} from "./contract.ts";
import { type CallError, refuseCall, refuseLate, refuseSlot, toCallError } from "./failure.ts";
import { type PerformOptions, performCall } from "./perform.ts";
import { type FullPlan, type PlanOptions, planCall } from "./plan.ts";

export interface ToolCallsOptions extends PlanOptions, PerformOptions {
  redactor: Pick<Redactor, "text" | "cut" | "value" | "createByteStream">;
  limits: CallLimits;
  /** Receives every ended call once. Must not throw. */
  onCall?: (record: CallRecord) => void;
  /** Logs causes that a caller must not see. */
  log: { error(fields: object, message: string): void };
}

export interface ServerCalls extends ToolCalls {
  readonly inFlight: number;
}

export function createToolCalls(options: ToolCallsOptions): ServerCalls {
  const room = new CallRoom(options.limits);

  function record(
    call: Pick<CallState, "serviceId" | "toolId" | "caller" | "parameters"> &
      Partial<Pick<CallState, "decision" | "moved" | "httpStatus">>,
    times: Pick<CallRecord, "durationMs" | "waitedMs">,
    outcome: CallOutcome,
    code: string | null,
  ): void {
    const { serviceId, toolId, caller, parameters, decision = null, moved = [], httpStatus = null } = call;
    const files = moved.map((file) => ({ ...file }));
    options.onCall?.({
      ...{ serviceId, toolId, caller, parameters, files, decision, outcome, code, httpStatus },
      ...times,
    });
  }

  function end(call: CallInProgress, failure: CallError | null): void {
    const { phase, httpStatus } = call;
    call.end();
    if (phase === "over") return;
    const isSent = phase === "sent" || phase === "streaming";
    // The call continues in a later child of the run.
    if (phase === "waiting" && call.given.signal?.reason === RUN_LEFT) return;
    const times = call.clock.read();
    // The service responded, but the script did not read the rest of the body, or ended.
    if (failure === null || (phase === "streaming" && failure.failure === "call_canceled")) {
      const hasFailed = httpStatus !== null && httpStatus >= 400;
      record(call, times, hasFailed ? "error" : "ok", hasFailed ? "http_error" : null);
    } else if (isSent && failure.outcome === "canceled") {
      // The service may have carried out the call.
      record(call, times, "unknown", "call_unknown");
    } else record(call, times, failure.outcome, failure.code ?? failure.failure);
  }

  function fail(call: CallInProgress, error: unknown): CallError {
    const failure = toCallError(call.signal.aborted ? call.signal.reason : error, options.log);
    end(call, failure);
    return failure;
  }

  /** Rejects as soon as the call is canceled or times out, because an adapter may ignore its signal. */
  async function step<T>(call: CallInProgress, work: () => Promise<T>): Promise<T> {
    try {
      call.signal.throwIfAborted();
      return await Promise.race([work(), rejectWhenAborted(call.signal)]);
    } catch (error) {
      throw fail(call, error);
    }
  }

  return {
    get inFlight() {
      return room.inFlight;
    },
    open(given: ToolCall): CallState {
      const clock = given.clock ?? new CallClock();
      try {
        return new CallState(given, clock, room);
      } catch (error) {
        const failure = error as CallError;
        record(given, clock.read(), failure.outcome, failure.code ?? failure.failure);
        throw failure;
      }
    },
    async plan(call: CallState, approved?: FullPlan): Promise<FullPlan> {
      const isApproved = approved?.call === call;
      if (isApproved && !call.signal.aborted) call.resume();
      const plan = await step(call, () => planCall(options, call, isApproved));
      if (plan.asked !== null) call.wait();
      return plan;
    },
    async perform(plan: FullPlan): Promise<unknown> {
      const { call, asked } = plan;
      const result = await step(call, async () => {
        if (asked !== null) throw new Error("The call needs an approval that it does not have.");
        return performCall(options, plan);
      });
      end(call, null);
      return result;
    },
    refuse: (call: CallState, { failure, message }) => fail(call, refuseCall(failure, message)),
  };
}

class CallRoom {
  readonly limits: CallLimits;
  readonly #byAccount = new Map<string, number>();
  /** Excludes calls that wait for an approval. */
  inFlight = 0;

  constructor(limits: CallLimits) {
    this.limits = limits;
  }

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

class CallState implements CallInProgress {
  readonly given: ToolCall;
  readonly caller: CallCaller;
  readonly clock: CallClock;
  readonly accountName: string;
  serviceId: string;
  toolId: string;
  parameters: Record<string, unknown>;
  workspace: CallWorkspace | undefined;
  phase: CallInProgress["phase"] = "planning";
  decision: GateDecision | null = null;
  readonly moved: MovedFile[] = [];
  httpStatus: number | null = null;
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

  /** Waits for an approver. This may take days, so meanwhile the call takes up no room and has no time limit. */
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

function rejectWhenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
