/**
 * First half of a tool call: visibility ► policy ► validation, and what an approver is shown if a rule asks. Calls no
 * adapter.
 */
import { performance } from "node:perf_hooks";
import { pathOf } from "#kernel/tool-patterns.ts";
import type { JSONSchema } from "#sdk";
import type { Db } from "../db/pool.ts";
import { retryWhileAway } from "../db/retry.ts";
import type { Redactor } from "../secrets/redactor.ts";
import type {
  AskedCall,
  CallCaller,
  CallGate,
  CallInProgress,
  CallPlan,
  GateDecision,
  ToolPath,
} from "./contract.ts";
import { refuseCall, refuseUncallable, toInvalidParameters } from "./failure.ts";
import type { FetchRules } from "./requests/fetch.ts";
import { describeNamedFiles, limitFiles, measureBody } from "./requests/named-files.ts";
import { MAX_SCHEMA_BYTES } from "./store.ts";
import type { ParameterValidator } from "./validation/validator.ts";

export interface PlanOptions {
  /** Returns null if the service does not exist. Reflects the last committed change. */
  findTarget(path: ToolPath): Promise<CallTarget | null>;
  fetchRules: Pick<FetchRules, "resolve" | "readNamed">;
  /** Returns null if the tool no longer has this schema. */
  readInputSchema(path: ToolPath, hash: string): Promise<JSONSchema | null>;
  describeUnknown(path: ToolPath, caller: CallCaller): Promise<string>;
  /** Returns why the active adapter rejected a service, or null if no failure is known. */
  failureOf(serviceId: string): string | null;
  gate: CallGate;
  validator: ParameterValidator;
  redactor: Pick<Redactor, "text">;
}

export interface FullPlan extends CallPlan {
  readonly call: CallInProgress;
  readonly target: CallTarget;
  /** Validated parameters with defaults filled in. */
  readonly parameters: Record<string, unknown>;
}

/**
 * Rejects with a CallError if the call may not be made. `isApproved`: an approver agreed to the call's earlier plan.
 */
export async function planCall(
  options: PlanOptions,
  call: CallInProgress,
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
  // Validate first, so that an approver is not asked about a call that could not be made.
  const parameters = await validate(options, call, target);
  const asked = needsApproval ? await describeAsked(call, target, parameters, policyId) : null;
  return { call, target, destructive, parameters, asked };
}

/**
 * Retries for runs, which outlive a database that is down for some seconds. A direct call fails, and its client tries
 * again.
 */
function persist<T>({ caller, signal }: CallInProgress, step: () => Promise<T>): Promise<T> {
  const first = step();
  return caller.processId === undefined ? first : first.catch((error) => retryWhileAway(step, signal, error));
}

async function resolveRequest({ fetchRules }: PlanOptions, call: CallInProgress): Promise<void> {
  const { path, parameters } = await fetchRules.resolve(call);
  Object.assign(call, path, { parameters });
}

async function findVisible(options: PlanOptions, call: CallInProgress): Promise<CallTarget> {
  const { gate, failureOf, describeUnknown, redactor } = options;
  const target = await options.findTarget(call);
  // If a role hides the tool, neither the tool nor its service nor its state exists for the caller.
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

async function decide(
  { gate }: PlanOptions,
  call: CallInProgress,
  destructive: boolean,
): Promise<GateDecision> {
  const { serviceId, toolId } = call;
  const decision = await gate.decide(call.caller, { serviceId, toolId, destructive });
  call.decision ??= decision;
  if (decision.decision !== "block") return decision;
  throw refuseCall("policy_blocked", `A policy blocks calls of ${pathOf(call)}.`);
}

async function validate(
  { validator, readInputSchema }: PlanOptions,
  call: CallInProgress,
  { inputHash }: CallTarget,
): Promise<Record<string, unknown>> {
  const loadSchema = async () => {
    const schema = await persist(call, () => readInputSchema(call, inputHash));
    if (schema !== null) return schema;
    throw refuseCall("call_unavailable", `The tool ${pathOf(call)} has just changed. Call it again.`);
  };
  const checked = await validator.check(call.accountName, inputHash, loadSchema, call.parameters);
  call.signal.throwIfAborted();
  if (checked.kind === "valid") return checked.parameters;
  throw toInvalidParameters(pathOf(call), checked);
}

/** From here on, the call can send only the files shown to the approver. */
async function describeAsked(
  call: CallInProgress,
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

/** Omits the query, because messages are stored in plain text. */
function describeRequest({ method, url }: Record<string, unknown>, bodyBytes: number | undefined): string {
  return `${method} ${String(url).split("?", 1)[0]}${bodyBytes === undefined ? "" : ` with a body of ${bodyBytes} bytes`}`;
}

const CACHE_LIMITS = { maxAgeMs: 1000, maxServices: 500, maxToolsOfService: 2000 } as const;

export interface CallTarget {
  serviceEnabled: boolean;
  stale: boolean;
  adapter: string;
  /** Tool id, or null if the service has no such tool. The other fields are then meaningless. */
  tool: string | null;
  toolEnabled: boolean;
  destructive: boolean;
  inputHash: string;
  isFetch: boolean;
}

interface CallTargets {
  /** Returns null if the service does not exist. This result is never cached. */
  find(path: ToolPath): Promise<CallTarget | null>;
  forget(serviceId: string): void;
}

interface KeptService {
  readAtMs: number;
  targets: Map<string, CallTarget>;
}

/**
 * Caches targets briefly, so that a series of calls does not query the database each time. Changes by this server
 * take effect at once, changes by other servers after `maxAgeMs`.
 */
export function createCallTargets(db: Db): CallTargets {
  const services = new Map<string, KeptService>();
  /** Number of changes. A target read before a change must not be cached after it. */
  let changes = 0;
  return {
    async find({ serviceId, toolId }) {
      const kept = services.get(serviceId);
      const isFresh = kept !== undefined && performance.now() - kept.readAtMs <= CACHE_LIMITS.maxAgeMs;
      const known = isFresh ? kept.targets.get(toolId) : undefined;
      if (known !== undefined) return known;
      const before = changes;
      // The age counts from before the read.
      const place = isFresh ? kept : { readAtMs: performance.now(), targets: new Map<string, CallTarget>() };
      const [target = null] = await db<CallTarget[]>`
        select s.enabled as "serviceEnabled", s.stale, s.adapter, t.id as tool,
          coalesce(t.enabled, false) as "toolEnabled", coalesce(t.destructive, true) as destructive,
          coalesce(t.input_hash, '') as "inputHash", t.fetch_scope is not null as "isFetch"
        from services s left join tools t on t.service_id = s.id and t.id = ${toolId} where s.id = ${serviceId}`;
      if (target === null || target.tool === null || changes !== before) return target;
      if (place.targets.size < CACHE_LIMITS.maxToolsOfService) place.targets.set(toolId, target);
      services.set(serviceId, place);
      const [oldest] = services.keys();
      if (services.size > CACHE_LIMITS.maxServices && oldest !== undefined) services.delete(oldest);
      return target;
    },
    forget(serviceId) {
      changes += 1;
      services.delete(serviceId);
    },
  };
}

/** Returns null if the tool no longer has the schema with this hash, or an empty schema if it is too large. */
export async function readInputSchema(db: Db, path: ToolPath, hash: string) {
  const [row] = await db<{ schema: Record<string, unknown> | null }[]>`
    select case when octet_length(input_schema::text) <= ${MAX_SCHEMA_BYTES} then input_schema end as schema from tools
    where service_id = ${path.serviceId} and id = ${path.toolId} and input_hash = ${hash}`;
  return row === undefined ? null : (row.schema ?? {});
}

/** Returns an empty schema if it is too large or the tool no longer exists. */
export async function readOutputSchema(
  db: Db,
  { serviceId, toolId }: ToolPath,
): Promise<Record<string, unknown>> {
  const [row] = await db<{ schema: Record<string, unknown> | null }[]>`
    select output_schema as schema from tools
    where service_id = ${serviceId} and id = ${toolId} and octet_length(output_schema::text) <= ${MAX_SCHEMA_BYTES}`;
  return row?.schema ?? {};
}
