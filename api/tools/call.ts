/**
 * The one path of every tool call: visible ► policy ► (approval) ► fit ► record ► invoke ► redact. Ends at the first step
 * that refuses it, when it is canceled, or when its time is over. Writes no trail: the caller does.
 */

import { settleIntegers } from "#kernel/tool-docs/large-integers.ts";
import { pathOf } from "#kernel/tool-patterns.ts";
import type { Timer } from "#modules/shared/limits.ts";
import type { AdapterModule, JSONSchema } from "#sdk";
import { type CallClock, RUN_LEFT, startCallClock } from "../bounds/call-clock.ts";
import { retryWhileAway } from "../db/retry.ts";
import type { Redactor } from "../secrets/redactor.ts";
import {
  CallError,
  isHttpStatus,
  readAdapterFailure,
  refuseCall,
  refuseLate,
  refuseMisfit,
  refuseSlot,
  refuseUncallable,
  toCallError,
} from "./failure.ts";
import type {
  CallCaller,
  CallGate,
  CallLimits,
  CallOutcome,
  CallRecord,
  CallRefusal,
  CallWorkspace,
  GateDecision,
  MovedFile,
  ToolCall,
  ToolPath,
} from "./gate.ts";
import type { FetchRules } from "./requests/fetch.ts";
import {
  describeNamedFiles,
  limitFiles,
  measureBody,
  noteBytes,
  openNoting,
} from "./requests/named-files.ts";
import {
  createOpenStream,
  createSave,
  type JsonResult,
  redactAnswer,
  type Save,
  saveResult,
  toJsonResult,
} from "./results.ts";
import type { CallTarget } from "./targets.ts";
import type { ParameterValidator } from "./validation/validator.ts";

export interface ToolCallerOptions {
  /** Null: there is no such service. Reflects the last committed change. */
  findTarget(path: ToolPath): Promise<CallTarget | null>;
  /** The tool that makes a request of `fetch`, and what it is called with. */
  fetchRules: Pick<FetchRules, "resolve" | "readNamed">;
  /** Null: the tool no longer has this schema. */
  readInputSchema(path: ToolPath, hash: string): Promise<JSONSchema | null>;
  readOutputSchema(path: ToolPath): Promise<JSONSchema>;
  /** A not-found message with suggestions. */
  describeUnknown(path: ToolPath, caller: CallCaller): Promise<string>;
  /** Null: the adapter is not active. */
  findAdapter(id: string): AdapterModule | null;
  /** Why the active adapter failed to take on a service; null when no failure is known. */
  failureOf(serviceId: string): string | null;
  gate: CallGate;
  validator: ParameterValidator;
  redactor: Pick<Redactor, "text" | "cut" | "value" | "createByteStream">;
  limits: CallLimits;
  /** Called before the adapter: rejects when the audit log cannot record the call, which is then not made. */
  admit?: () => Promise<void>;
  /** Called once for every call that has ended. Must not throw. */
  onCall?: (record: CallRecord) => void;
  /** For causes that a caller must not see. */
  log: { error(fields: object, message: string): void };
}

export interface ToolCaller {
  /** The result as JSON data. Rejects with CallError only. */
  call(call: ToolCall): Promise<unknown>;
  /** Calls under way, without those that wait for an approval. */
  readonly inFlight: number;
}

/** A call between its first and its last step. Of a request of `fetch`, tool and parameters are those that it comes to. */
interface OpenCall extends ToolCall {
  path: string;
  readonly clock: CallClock;
  readonly timer: Timer;
  /** The script has its answer, and reads the body. */
  isStreaming: boolean;
  /** Aborts with a CallError when the call is canceled or its time is over. */
  readonly signal: AbortSignal;
  /** It waits for an approval, or did when it was aborted. */
  isAsking: boolean;
  /** Its adapter is called, or about to be. */
  isSent: boolean;
  /** Stops the timer and frees the call's slot, while an approval is waited for. */
  suspend(): void;
  resume(): void;
  /** The first decision, for the record. */
  decision: GateDecision | null;
  /** Sent and saved by now. */
  readonly moved: MovedFile[];
  /** Of the service's last answer. */
  httpStatus: number | null;
}

export function createToolCaller(options: ToolCallerOptions): ToolCaller {
  const { gate, validator, redactor, limits } = options;
  const openByCaller = new Map<string, number>();
  let inFlight = 0;

  async function perform(call: OpenCall): Promise<unknown> {
    // The path `fetch`: no tool has an empty id.
    const isFetch = call.toolId === "" && call.serviceId === "fetch";
    if (isFetch) await persist(call, () => resolve(call));
    let tool = await persist(call, () => findVisible(call));
    if (tool.isFetch && !isFetch) {
      call.parameters = await persist(call, () => options.fetchRules.readNamed(call));
      call.onResolved?.(call, call.parameters);
    }
    const { destructive } = tool;
    const decision = await persist(call, () => applyPolicy(call, destructive));
    if (decision.decision === "ask" || call.run?.isAsked) {
      await waitForApproval(call, tool, decision);
      // Days may have passed.
      tool = await persist(call, async () => {
        const found = await findVisible(call);
        await applyPolicy(call, found.destructive);
        return found;
      });
    }
    const parameters = await fitParameters(call, tool);
    const adapter = await record(call, tool);
    call.workspace &&= watch(call.workspace, call.moved);
    const save = createSave(call, redactor, tool.isFetch);
    const value = await invoke(call, adapter, parameters, save).catch(async (error: unknown) => {
      const failure = error instanceof CallError ? error : null;
      if (failure?.answer === undefined) throw error;
      failure.answer = (await settle(
        call,
        toJsonResult(failure.answer, limits.maxResultBytes),
      )) as typeof failure.answer;
      if (call.throwOnError !== false) throw error;
      return new FailedAnswer(failure.answer);
    });
    // Its secrets are replaced already, and it is not what was to be saved.
    if (value instanceof FailedAnswer) return value.answer;
    const answer = await settle(call, toJsonResult(value, limits.maxResultBytes));
    const result = redactor.value(tool.isFetch ? redactAnswer(answer, redactor) : answer);
    return save === undefined || adapter.savesAnswers === true ? result : saveResult(result, save);
  }

  /** A script computes with numbers, so it is told where one is not what the service answered. A direct caller reads the digits. */
  async function settle(
    call: OpenCall,
    { answer, hasLargeIntegers, hasInfinity }: JsonResult,
  ): Promise<unknown> {
    const { warn } = call;
    if (warn === undefined) return answer;
    if (hasInfinity) {
      const message =
        "The answer holds a number that JavaScript has only as infinity, or NaN: it became null.";
      warn({ code: "value_not_json", message, path: "answer" });
    }
    return hasLargeIntegers
      ? settleIntegers(answer, await options.readOutputSchema(call), "answer", warn)
      : answer;
  }

  async function resolve(call: OpenCall): Promise<void> {
    const { path, parameters } = await options.fetchRules.resolve(call);
    Object.assign(call, path, { parameters, path: `${path.serviceId}.${path.toolId}` });
    call.onResolved?.(path, parameters);
  }

  async function findVisible(call: OpenCall): Promise<CallTarget> {
    const target = await options.findTarget(call);
    // What a role hides does not exist for the caller: not its service, not its state.
    if (target === null || !gate.canSee(call.caller, call)) {
      throw refuseCall("not_found", await options.describeUnknown(call, call.caller));
    }
    const failure = options.failureOf(call.serviceId);
    if (!target.serviceEnabled || target.stale || failure !== null) {
      throw refuseUncallable(call, target, failure === null ? null : redactor.text(failure));
    }
    if (target.tool === null) throw refuseCall("not_found", await options.describeUnknown(call, call.caller));
    if (!target.toolEnabled) throw refuseCall("tool_disabled", `The tool ${call.path} is disabled.`);
    return target;
  }

  async function applyPolicy(call: OpenCall, destructive: boolean): Promise<GateDecision> {
    const { serviceId, toolId } = call;
    const decision = await gate.decide(call.caller, { serviceId, toolId, destructive });
    call.decision ??= decision;
    if (decision.decision !== "block") return decision;
    throw refuseCall("policy_blocked", `A policy blocks calls of ${call.path}.`);
  }

  /** Checks the parameters first: an approval is not asked for a call that could not be made. */
  async function waitForApproval(
    call: OpenCall,
    tool: CallTarget,
    { policyId }: GateDecision,
  ): Promise<void> {
    if (call.run === undefined) {
      throw refuseCall(
        "approval_unavailable",
        `A person has to approve calls of ${call.path}, and a direct call cannot wait for one. Call it from a script.`,
      );
    }
    const parameters = await fitParameters(call, tool);
    const { workspace, signal } = call;
    const files =
      workspace === undefined ? [] : await describeNamedFiles(parameters, workspace.files, signal);
    if (workspace !== undefined) call.workspace = { ...workspace, files: limitFiles(workspace.files, files) };
    const request = tool.isFetch
      ? describeRequest(parameters, measureBody(parameters.body, files))
      : undefined;
    const asked = { parameters, files, request, destructive: tool.destructive, policyId };
    call.suspend();
    call.isAsking = true;
    const refusal = await call.clock.waitFor(call.run.approve(asked, call.signal));
    call.isAsking = call.signal.aborted;
    call.resume();
    throwRefusal(refusal);
  }

  async function fitParameters(call: OpenCall, { inputHash }: CallTarget): Promise<Record<string, unknown>> {
    const loadSchema = async () => {
      const schema = await persist(call, () => options.readInputSchema(call, inputHash));
      if (schema !== null) return schema;
      throw refuseCall("call_unavailable", `The tool ${call.path} has just changed. Call it again.`);
    };
    const checked = await validator.check(nameCaller(call.caller), inputHash, loadSchema, call.parameters);
    call.signal.throwIfAborted();
    if (checked.kind === "fits") return checked.parameters;
    throw refuseMisfit(call.path, checked);
  }

  /** Last before the adapter: from here on the call counts as made. */
  async function record(call: OpenCall, { adapter: id, destructive }: CallTarget): Promise<AdapterModule> {
    await options.admit?.();
    call.signal.throwIfAborted();
    const adapter = options.findAdapter(id);
    if (adapter === null) {
      throw refuseCall(
        "adapter_inactive",
        `The service ${call.serviceId} cannot be called: its adapter ${id} is not active.`,
      );
    }
    call.isSent = true;
    throwRefusal((await call.run?.begin({ destructive })) ?? null);
    call.signal.throwIfAborted();
    return adapter;
  }

  /** What an error answers, within the bounds of results. */
  const cleaning = {
    cut: redactor.cut,
    answer: (answer: object) => redactor.value(toJsonResult(answer, limits.maxResultBytes).answer),
  };

  function noteAnswered(call: OpenCall, httpStatus: unknown): void {
    if (!isHttpStatus(httpStatus) || call.signal.aborted) return;
    call.httpStatus = httpStatus;
    call.onAnswered?.(httpStatus);
  }

  async function invoke(
    call: OpenCall,
    adapter: AdapterModule,
    parameters: Record<string, unknown>,
    save: Save | undefined,
  ) {
    const { serviceId, toolId, signal, caller, workspace, warn, openStream } = call;
    try {
      return await adapter.invoke({
        serviceId,
        toolId,
        parameters,
        signal,
        ...(caller.processId !== undefined && { eid: caller.processId }),
        ...(workspace !== undefined && { files: workspace.files }),
        ...(warn !== undefined && { warn }),
        ...(save !== undefined && adapter.savesAnswers === true && { save }),
        ...(openStream && {
          openStream: createOpenStream(openStream, call, redactor, limits.maxResultBytes),
        }),
        onAnswered: (httpStatus) => noteAnswered(call, httpStatus),
      });
    } catch (error) {
      const failure = readAdapterFailure(error, cleaning);
      noteAnswered(call, failure.status);
      throw failure;
    }
  }

  /** Takes a slot and starts the timer; disposing gives both back. Throws CallError `too_many_calls`. */
  function open(given: ToolCall, clock: CallClock): OpenCall & Disposable {
    const { serviceId, toolId, caller, signal: canceled } = given;
    const name = nameCaller(caller);
    const own = openByCaller.get(name) ?? 0;
    if (own >= limits.maxInFlightPerCaller || inFlight >= limits.maxInFlight) {
      throw refuseSlot(limits, own, caller.processId === undefined ? "key" : "process");
    }
    openByCaller.set(name, own + 1);
    inFlight += 1;
    const ended = new AbortController();
    const cancel = () => ended.abort(refuseCall("call_canceled", "The call was canceled."));
    const timeOut = () => ended.abort(refuseLate(limits.invokeTimeoutMs));
    canceled?.addEventListener("abort", cancel, { once: true });
    if (canceled?.aborted) cancel();
    let timer: NodeJS.Timeout | null = setTimeout(timeOut, limits.invokeTimeoutMs);
    const suspend = () => {
      if (timer === null) return;
      clearTimeout(timer);
      timer = null;
      inFlight -= 1;
    };
    return {
      ...given,
      path: pathOf({ serviceId, toolId }),
      clock,
      signal: ended.signal,
      timer: {
        stop: () => clearTimeout(timer ?? undefined),
        restart() {
          if (timer === null) return;
          clearTimeout(timer);
          timer = setTimeout(timeOut, limits.invokeTimeoutMs);
        },
      },
      isStreaming: false,
      decision: null,
      moved: [],
      httpStatus: null,
      isAsking: false,
      isSent: false,
      suspend,
      resume() {
        if (ended.signal.aborted) return;
        timer = setTimeout(timeOut, limits.invokeTimeoutMs);
        inFlight += 1;
      },
      [Symbol.dispose]() {
        suspend();
        canceled?.removeEventListener("abort", cancel);
        const left = (openByCaller.get(name) ?? 1) - 1;
        if (left === 0) openByCaller.delete(name);
        else openByCaller.set(name, left);
      },
    };
  }

  return {
    get inFlight() {
      return inFlight;
    },
    async call(given) {
      const clock = given.clock ?? startCallClock();
      let opened: (OpenCall & Disposable) | null = null;
      const report = (outcome: CallOutcome, code: string | null) => {
        const { serviceId, toolId, caller, parameters } = opened ?? given;
        const decision = opened?.decision ?? null;
        const times = clock.read();
        const files = opened?.moved.map((file) => ({ ...file })) ?? [];
        const httpStatus = opened?.httpStatus ?? null;
        options.onCall?.({
          ...{ serviceId, toolId, caller, parameters, files, decision, outcome, code, httpStatus },
          ...times,
        });
      };
      const reportAnswered = ({ httpStatus }: OpenCall) => {
        if (httpStatus !== null && httpStatus >= 400) report("error", "http_error");
        else report("ok", null);
      };
      try {
        opened = open(given, clock);
        using call = opened;
        call.signal.throwIfAborted();
        // A race, because an adapter may ignore its signal.
        const result = await Promise.race([perform(call), rejectWhenAborted(call.signal)]);
        // Whoever was told of it.
        reportAnswered(call);
        return result;
      } catch (error) {
        const failure = toCallError(error, options.log);
        if (opened?.isStreaming === true && failure.failure === "call_canceled") {
          // It was answered; the script, or its end, wanted no more of the body.
          reportAnswered(opened);
          throw failure;
        }
        const goesOn = given.signal?.reason === RUN_LEFT && opened?.isAsking === true;
        if (goesOn) throw failure;
        // The service may have carried it out.
        if (opened?.isSent === true && failure.outcome === "canceled") report("unknown", "call_unknown");
        else report(failure.outcome, failure.code ?? failure.failure);
        throw failure;
      }
    },
  };
}

/** A run outlives a database that is away for some seconds; a direct call is refused, and its client tries again. */
function persist<T>({ caller, signal }: OpenCall, step: () => Promise<T>): Promise<T> {
  const asked = step();
  return caller.processId === undefined ? asked : asked.catch((error) => retryWhileAway(step, signal, error));
}

/** An answer that says it failed, which the caller wants as any other. */
class FailedAnswer {
  readonly answer: unknown;

  constructor(answer: unknown) {
    this.answer = answer;
  }
}

/** The same workspace, noting what goes through. */
function watch({ files, saveAs }: CallWorkspace, moved: MovedFile[]): CallWorkspace {
  return {
    files: { open: (name) => openNoting(files, name, moved) },
    ...(saveAs && {
      saveAs: { ...saveAs, save: (bytes) => saveAs.save(noteBytes(moved, saveAs.name, "saved", bytes)) },
    }),
  };
}

function rejectWhenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

/** Without the query: messages are stored in plain text. */
function describeRequest({ method, url }: Record<string, unknown>, bodyBytes: number | undefined): string {
  return `${method} ${String(url).split("?", 1)[0]}${bodyBytes === undefined ? "" : ` with a body of ${bodyBytes} bytes`}`;
}

function throwRefusal(refusal: CallRefusal | null): void {
  if (refusal !== null) throw refuseCall(refusal.failure, refusal.message);
}

/** Whose limits and whose turn of checks a call counts against. */
function nameCaller({ processId, keyId }: CallCaller): string {
  return processId !== undefined ? `process ${processId}` : `key ${keyId ?? ""}`;
}
