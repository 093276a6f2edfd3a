/** The one path of every tool call, in steps: open ► plan ► perform. Records each call once, when it has ended. */
import { orAborted } from "#modules/shared/limits.ts";
import { CallClock, RUN_LEFT } from "../bounds/call-clock.ts";
import type { Redactor } from "../secrets/redactor.ts";
import { CallRoom, CallState } from "./call-state.ts";
import type { CallLimits, CallOutcome, CallRecord, ToolCall, ToolCalls } from "./contract.ts";
import { type CallError, refuseCall, toCallError } from "./failure.ts";
import { type PerformOptions, performCall } from "./perform.ts";
import { type FullPlan, type PlanOptions, planCall } from "./plan.ts";

export interface ToolCallsOptions extends PlanOptions, PerformOptions {
  redactor: Pick<Redactor, "text" | "cut" | "value" | "createByteStream">;
  limits: CallLimits;
  /** Receives every call that has ended, once. Must not throw. */
  onCall?: (record: CallRecord) => void;
  /** Receives causes that a caller must not see. */
  log: { error(fields: object, message: string): void };
}

export interface ServerCalls extends ToolCalls {
  /** Calls in progress, except those that wait for an approval. */
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

  function end(call: CallState, failure: CallError | null): void {
    const { phase, httpStatus } = call;
    call.end();
    if (phase === "over") return;
    const isSent = phase === "sent" || phase === "streaming";
    // The call continues in a later child of the run.
    if (phase === "waiting" && call.given.signal?.reason === RUN_LEFT) return;
    const times = call.clock.read();
    // The service responded; the script, or its end, wanted no more of the body.
    if (failure === null || (phase === "streaming" && failure.failure === "call_canceled")) {
      const hasFailed = httpStatus !== null && httpStatus >= 400;
      record(call, times, hasFailed ? "error" : "ok", hasFailed ? "http_error" : null);
    } else if (isSent && failure.outcome === "canceled") {
      // The service may have carried it out.
      record(call, times, "unknown", "call_unknown");
    } else record(call, times, failure.outcome, failure.code ?? failure.failure);
  }

  function fail(call: CallState, error: unknown): CallError {
    const failure = toCallError(call.signal.aborted ? call.signal.reason : error, options.log);
    end(call, failure);
    return failure;
  }

  /** Rejects as soon as the call is canceled or its time is over: an adapter may ignore its signal. */
  async function step<T>(call: CallState, work: () => Promise<T>): Promise<T> {
    try {
      call.signal.throwIfAborted();
      return await orAborted(work(), call.signal);
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
