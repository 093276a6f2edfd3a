/** First half of a tool call: visible ► policy ► validation, and what an approver is shown if a rule asks. Calls nothing. */
import { pathOf } from "#kernel/tool-patterns.ts";
import type { JSONSchema } from "#sdk";
import { retryWhileAway } from "../db/retry.ts";
import type { Redactor } from "../secrets/redactor.ts";
import type { CallState } from "./call-state.ts";
import type { AskedCall, CallCaller, CallGate, CallPlan, GateDecision, ToolPath } from "./contract.ts";
import { refuseCall, refuseUncallable, toInvalidParameters } from "./failure.ts";
import type { FetchRules } from "./requests/fetch.ts";
import { describeNamedFiles, limitFiles, measureBody } from "./requests/named-files.ts";
import type { CallTarget } from "./targets.ts";
import type { ParameterValidator } from "./validation/validator.ts";

export interface PlanOptions {
  /** Returns null if there is no such service. Reflects the last committed change. */
  findTarget(path: ToolPath): Promise<CallTarget | null>;
  /** Finds the tool that makes a `fetch` request, and its parameters. */
  fetchRules: Pick<FetchRules, "resolve" | "readNamed">;
  /** Returns null if the tool no longer has this schema. */
  readInputSchema(path: ToolPath, hash: string): Promise<JSONSchema | null>;
  /** Returns a not-found message with suggestions. */
  describeUnknown(path: ToolPath, caller: CallCaller): Promise<string>;
  /** Returns why the active adapter failed to take on a service, or null if no failure is known. */
  failureOf(serviceId: string): string | null;
  gate: CallGate;
  validator: ParameterValidator;
  redactor: Pick<Redactor, "text">;
}

export interface FullPlan extends CallPlan {
  readonly call: CallState;
  readonly target: CallTarget;
  /** Validated, with defaults filled in. */
  readonly parameters: Record<string, unknown>;
}

/** Rejects with a CallError if the call may not be made. `isApproved`: an approver has agreed to the call's earlier plan. */
export async function planCall(
  options: PlanOptions,
  call: CallState,
  isApproved: boolean,
): Promise<FullPlan> {
  const isRequest = call.serviceId === "fetch" && call.toolId === "";
  if (isRequest) await persist(call, () => resolveRequest(options, call));
  const target = await persist(call, () => findVisible(options, call));
  if (target.isFetch && !isRequest && !isApproved) {
    call.parameters = await persist(call, () => options.fetchRules.readNamed(call));
  }
  const { destructive } = target;
  const { decision, policyId } = await persist(call, () => decide(options, call, destructive));
  const needsApproval = !isApproved && (decision === "ask" || call.given.wasAsked === true);
  if (needsApproval && call.caller.processId === undefined) {
    throw refuseCall(
      "approval_unavailable",
      `Calls of ${pathOf(call)} need approval, and a direct call cannot wait for one. Call it from a script.`,
    );
  }
  // Before an approver is asked: a call that could not be made must not bother one.
  const parameters = await validate(options, call, target);
  const asked = needsApproval ? await describeAsked(call, target, parameters, policyId) : null;
  return { call, target, destructive, parameters, asked };
}

/** A run outlives a database that is away for some seconds. A direct call is refused, and its client tries again. */
function persist<T>({ caller, signal }: CallState, step: () => Promise<T>): Promise<T> {
  const first = step();
  return caller.processId === undefined ? first : first.catch((error) => retryWhileAway(step, signal, error));
}

async function resolveRequest({ fetchRules }: PlanOptions, call: CallState): Promise<void> {
  const { path, parameters } = await fetchRules.resolve(call);
  Object.assign(call, path, { parameters });
}

async function findVisible(options: PlanOptions, call: CallState): Promise<CallTarget> {
  const { gate, failureOf, describeUnknown, redactor } = options;
  const target = await options.findTarget(call);
  // A tool that a role hides does not exist for the caller: neither does its service, nor its state.
  if (target === null || !gate.canSee(call.caller, call)) {
    throw refuseCall("not_found", await describeUnknown(call, call.caller));
  }
  const failure = failureOf(call.serviceId);
  if (!target.serviceEnabled || target.stale || failure !== null) {
    throw refuseUncallable(call, target, failure === null ? null : redactor.text(failure));
  }
  if (target.tool === null) throw refuseCall("not_found", await describeUnknown(call, call.caller));
  if (!target.toolEnabled) throw refuseCall("tool_disabled", `The tool ${pathOf(call)} is disabled.`);
  return target;
}

async function decide({ gate }: PlanOptions, call: CallState, destructive: boolean): Promise<GateDecision> {
  const { serviceId, toolId } = call;
  const decision = await gate.decide(call.caller, { serviceId, toolId, destructive });
  call.decision ??= decision;
  if (decision.decision !== "block") return decision;
  throw refuseCall("policy_blocked", `A policy blocks calls of ${pathOf(call)}.`);
}

async function validate(
  { validator, readInputSchema }: PlanOptions,
  call: CallState,
  { inputHash }: CallTarget,
): Promise<Record<string, unknown>> {
  const loadSchema = async () => {
    const schema = await persist(call, () => readInputSchema(call, inputHash));
    if (schema !== null) return schema;
    throw refuseCall("call_unavailable", `The tool ${pathOf(call)} has just changed. Call it again.`);
  };
  const checked = await validator.check(call.accountName, inputHash, loadSchema, call.parameters);
  call.signal.throwIfAborted();
  if (checked.kind === "fits") return checked.parameters;
  throw toInvalidParameters(pathOf(call), checked);
}

/** From here on the call can send exactly the files that the approver is shown. */
async function describeAsked(
  call: CallState,
  { isFetch, destructive }: CallTarget,
  parameters: Record<string, unknown>,
  policyId: string | undefined,
): Promise<AskedCall> {
  const { workspace, signal } = call;
  const files = workspace === undefined ? [] : await describeNamedFiles(parameters, workspace.files, signal);
  if (workspace !== undefined) call.workspace = { ...workspace, files: limitFiles(workspace.files, files) };
  const request = isFetch ? describeRequest(parameters, measureBody(parameters.body, files)) : undefined;
  return { parameters, files, request, destructive, policyId };
}

/** Without the query: messages are stored in plain text. */
function describeRequest({ method, url }: Record<string, unknown>, bodyBytes: number | undefined): string {
  return `${method} ${String(url).split("?", 1)[0]}${bodyBytes === undefined ? "" : ` with a body of ${bodyBytes} bytes`}`;
}
