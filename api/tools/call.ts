/**
 * The one path of every tool call, whoever makes it: known, enabled, not stale, visible, allowed, valid, bounded in
 * time, size and number, without secrets in what comes back. Records no trail: whoever calls does.
 */
import type { AdapterModule, JSONSchema } from "#sdk";
import { type CallClock, startCallClock } from "../bounds/call-clock.ts";
import { isDatabaseUnavailable } from "../db/pool.ts";
import { AppError } from "../errors.ts";
import { type Cutoff, openCutoff } from "./calling/cutoff.ts";
import { CallError, type CallOutcome, readAdapterFailure, refuseCall } from "./calling/failure.ts";
import { type CallPlace, createInFlight, type InFlightLimits, nameCaller } from "./calling/in-flight.ts";
import { toJsonResult } from "./calling/result.ts";
import type { CallCaller, CallGate, CallInRun, CallRefusal, GateDecision, ToolPath } from "./gate.ts";
import type { CallTarget } from "./store.ts";
import type { ParameterValidator } from "./validation/validator.ts";

export interface ToolCall extends ToolPath {
  parameters: Record<string, unknown>;
  caller: CallCaller;
  /** Aborts when the run is killed or over, or the client of a direct call has gone. */
  signal?: AbortSignal | undefined;
  /** Absent for a direct call: nobody can be asked about it. */
  run?: CallInRun | undefined;
  /** That of the run's trail; absent: one of its own. */
  clock?: CallClock | undefined;
}

/** A call that is over. */
export interface CallRecord extends ToolPath {
  caller: CallCaller;
  /** As they were given. */
  parameters: Record<string, unknown>;
  /** Null: the call was refused before the policies were asked. */
  decision: GateDecision | null;
  outcome: CallOutcome;
  /** The error code where the outcome is not `ok`. */
  code: string | null;
  /** Without `waitedMs`, for which it stood still for a person. */
  durationMs: number;
  waitedMs: number;
}

/** What the path of calls knows of the installed services. Every answer is that of the last committed change. */
export interface CallCatalog {
  /** Null: there is no such service. */
  findTarget(path: ToolPath): Promise<CallTarget | null>;
  /** Null: the tool no longer has this schema. */
  readInputSchema(path: ToolPath, hash: string): Promise<JSONSchema | null>;
  /** The sentence that refuses a path that does not exist, with what may have been meant. */
  describeUnknown(path: ToolPath, caller: CallCaller): Promise<string>;
}

export interface ToolCallerOptions {
  catalog: CallCatalog;
  adapters: { get(id: string): AdapterModule | null };
  /** Why the adapter in place could not take a service on; null when nothing is known against it. */
  failureOf(serviceId: string): string | null;
  gate: CallGate;
  validator: ParameterValidator;
  redactor: { text(text: string): string; value<T>(json: T): T };
  limits: InFlightLimits & { invokeTimeoutMs: number; maxResultBytes: number };
  /** Before the adapter is called: rejects where the call could not be recorded, and then it is not made. */
  admit?: () => Promise<void>;
  /** Told of every call that is over. Must not throw. */
  onCall?: (record: CallRecord) => void;
  /** For causes that no caller may see. */
  log: { error(fields: object, message: string): void };
}

export interface ToolCaller {
  /** The result as JSON data. Rejects with CallError only. */
  call(call: ToolCall): Promise<unknown>;
  /** Calls that are under way. */
  readonly inFlight: number;
}

export function createToolCaller(options: ToolCallerOptions): ToolCaller {
  const { catalog, adapters, gate, validator, redactor, limits, log } = options;
  const inFlight = createInFlight(limits);

  async function perform(
    call: ToolCall,
    cutoff: Cutoff,
    place: CallPlace,
    clock: CallClock,
    noteDecision: (made: GateDecision) => void,
  ): Promise<unknown> {
    const { caller, serviceId, toolId } = call;
    let tool = await requireCallable(call, await catalog.findTarget(call));
    cutoff.check();

    const decision = await gate.decide(caller, { serviceId, toolId, destructive: tool.destructive });
    noteDecision(decision);
    if (decision.decision === "block") throw blocked(call);
    if (decision.decision === "ask" || call.run?.isAsked) {
      await waitForApproval(call, tool, decision, cutoff, place, clock);
      // Days may have passed.
      tool = await requireCallable(call, await catalog.findTarget(call));
      const now = await gate.decide(caller, { serviceId, toolId, destructive: tool.destructive });
      if (now.decision === "block") throw blocked(call);
    }
    cutoff.check();

    const parameters = await fitParameters(call, tool.inputHash);
    await options.admit?.();
    cutoff.check();

    const adapter = adapters.get(tool.adapter);
    if (adapter === null) throw adapterInactive(call, tool.adapter);
    throwRefusal((await call.run?.begin({ destructive: tool.destructive })) ?? null);
    cutoff.check();
    const value = await invoke(adapter, call, parameters, cutoff.signal);
    cutoff.check();
    return redactor.value(toJsonResult(value, limits.maxResultBytes));
  }

  /** Nobody is asked about a call that could not be made anyway. Throws unless it was approved. */
  async function waitForApproval(
    call: ToolCall,
    tool: CallTarget & { tool: string },
    { policyId }: GateDecision,
    cutoff: Cutoff,
    place: CallPlace,
    clock: CallClock,
  ): Promise<void> {
    if (call.run === undefined) throw nobodyToAsk(call);
    const parameters = await fitParameters(call, tool.inputHash);
    cutoff.check();
    cutoff.stopClock();
    place.leave();
    const { destructive } = tool;
    const decided = call.run.approve({ parameters, destructive, policyId }, cutoff.signal);
    const refusal = await clock.waitFor(decided);
    place.comeBack();
    cutoff.startClock();
    throwRefusal(refusal);
  }

  async function requireCallable(
    call: ToolCall,
    target: CallTarget | null,
  ): Promise<CallTarget & { tool: string }> {
    const path = `${call.serviceId}.${call.toolId}`;
    // What a role hides does not exist: not its service, not its state.
    if (!gate.canSee(call.caller, call)) {
      throw refuseCall("not_found", await catalog.describeUnknown(call, call.caller));
    }
    if (target === null) throw refuseCall("not_found", await catalog.describeUnknown(call, call.caller));
    if (!target.serviceEnabled) {
      throw refuseCall(
        "service_disabled",
        `The service ${call.serviceId} is disabled, so ${path} cannot be called.`,
      );
    }
    if (target.stale) {
      throw refuseCall(
        "service_stale",
        `The service ${call.serviceId} is stale: its adapter has changed and could not read its definition. An administrator has to update it.`,
      );
    }
    const failure = options.failureOf(call.serviceId);
    if (failure !== null) {
      const why = `The service ${call.serviceId} cannot be called: its adapter could not take it on: ${redactor.text(failure)}`;
      throw refuseCall("service_failed", `${why} An administrator has to mend it and enable it again.`);
    }
    if (target.tool === null) {
      throw refuseCall("not_found", await catalog.describeUnknown(call, call.caller));
    }
    if (!target.toolEnabled) throw refuseCall("tool_disabled", `The tool ${path} is disabled.`);
    return target as CallTarget & { tool: string };
  }

  async function fitParameters(call: ToolCall, hash: string): Promise<Record<string, unknown>> {
    const loadSchema = async () => {
      const schema = await catalog.readInputSchema(call, hash);
      if (schema !== null) return schema;
      throw refuseCall(
        "call_unavailable",
        `The tool ${call.serviceId}.${call.toolId} has just changed. Call it again.`,
      );
    };
    const outcome = await validator.check(nameCaller(call.caller), hash, loadSchema, call.parameters);
    switch (outcome.kind) {
      case "fits":
        return outcome.parameters;
      case "misfit":
        throw misfit(call, outcome.issues);
      case "busy":
        throw refuseCall("too_many_calls", outcome.message);
      case "timeout":
        throw refuseCall("invalid_parameters", outcome.message);
      case "unusable":
        throw refuseCall("tool_schema_invalid", outcome.message);
    }
  }

  async function invoke(
    adapter: AdapterModule,
    call: ToolCall,
    parameters: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<unknown> {
    const { serviceId, toolId, caller } = call;
    const eid = caller.processId;
    try {
      return await adapter.invoke({
        serviceId,
        toolId,
        parameters,
        signal,
        ...(eid !== undefined && { eid }),
      });
    } catch (error) {
      throw readAdapterFailure(error, redactor.text);
    }
  }

  /** Whatever went wrong as what a caller may know. */
  function toCallError(error: unknown): CallError {
    if (error instanceof CallError) return error;
    const isKnown = error instanceof AppError && error.status < 500;
    if (!isKnown) log.error({ err: error }, "a tool call failed inside the server");
    const isAway =
      isDatabaseUnavailable(error) || (error instanceof AppError && error.code === "database_unavailable");
    return refuseCall(
      "call_unavailable",
      isAway
        ? "The call could not be made: the database does not answer at the moment. Try again shortly."
        : "The call could not be made: something went wrong inside the server.",
      { cause: error },
    );
  }

  return {
    get inFlight() {
      return inFlight.count;
    },
    async call(call) {
      const clock = call.clock ?? startCallClock();
      let decision: GateDecision | null = null;
      const report = (outcome: CallOutcome, code: string | null) =>
        options.onCall?.({
          serviceId: call.serviceId,
          toolId: call.toolId,
          caller: call.caller,
          parameters: call.parameters,
          decision,
          outcome,
          code,
          ...clock.read(),
        });
      try {
        using place = inFlight.enter(call.caller);
        using cutoff = openCutoff(call.signal, limits.invokeTimeoutMs);
        cutoff.check();
        cutoff.startClock();
        const performed = perform(call, cutoff, place, clock, (made) => {
          decision = made;
        });
        // A race: nobody waits for an adapter that ignores its signal.
        const result = await Promise.race([performed, cutoff.cut]);
        report("ok", null);
        return result;
      } catch (error) {
        const failure = toCallError(error);
        report(failure.outcome, failure.code ?? failure.failure);
        throw failure;
      }
    },
  };
}

function blocked({ serviceId, toolId }: ToolPath): CallError {
  return refuseCall("policy_blocked", `A policy blocks calls of ${serviceId}.${toolId}.`);
}

function throwRefusal(refusal: CallRefusal | null): void {
  if (refusal !== null) throw refuseCall(refusal.failure, refusal.message);
}

function nobodyToAsk({ serviceId, toolId }: ToolPath): CallError {
  return refuseCall(
    "approval_unavailable",
    `A person has to approve calls of ${serviceId}.${toolId}, and a direct call cannot wait for one. Call it from a script.`,
  );
}

function adapterInactive({ serviceId }: ToolPath, adapter: string): CallError {
  return refuseCall(
    "adapter_inactive",
    `The service ${serviceId} cannot be called: its adapter ${adapter} is not active.`,
  );
}

const MAX_LISTED_ISSUES = 5;

function misfit({ serviceId, toolId }: ToolPath, issues: { path: string; message: string }[]): CallError {
  const listed = issues.slice(0, MAX_LISTED_ISSUES).map(({ path, message }) => `${path} ${message}`);
  const more = issues.length > listed.length ? ` (and ${issues.length - listed.length} more)` : "";
  return refuseCall(
    "invalid_parameters",
    `The parameters of ${serviceId}.${toolId} do not fit: ${listed.join("; ")}${more}.`,
    { issues },
  );
}
