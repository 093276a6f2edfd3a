/**
 * What the host does for environments: reports of a run land on the live run they name, and nowhere else; tool calls
 * are recorded, bounded in time and cut off when the run is over.
 */
import type { EnvironmentBindings, InvokeInput } from "#sdk";
import { type CallEnding, MAX_TRAIL_CALLS } from "./live/trail.ts";
import type { RunRegistry } from "./registry.ts";
import { ToolError, type ToolHost } from "./tool-host.ts";

export interface BindingsOptions {
  registry: RunRegistry;
  tools: ToolHost;
  /** Longest time of one tool call. */
  invokeTimeoutMs: number;
}

/** Codes of a refusal by a rule or a person, as opposed to a failure. */
const DENIED_CODES = new Set(["approval_denied", "approval_expired", "policy_blocked"]);

/** Reports about a run that is not (any more) in memory are dropped. Malformed ones throw TypeError. */
export function createBindings({ registry, tools, invokeTimeoutMs }: BindingsOptions): EnvironmentBindings {
  return {
    invokeTool: (input) => invokeTool(registry, tools, invokeTimeoutMs, input),
    setState: (eid, state) => registry.get(eid)?.setState(state),
    setError: (eid, error) => registry.get(eid)?.setError(error),
    emitStdout: (eid, data) => registry.get(eid)?.write("stdout", toBytes(data)),
    emitStderr: (eid, data) => registry.get(eid)?.write("stderr", toBytes(data)),
    emitOutput: (eid, data) => registry.get(eid)?.emitOutput(toObject(data)),
    setResult: (eid, value) => registry.get(eid)?.setResult(value),
    setUsage: (eid, usage) => registry.get(eid)?.setUsage(usage),
    discoverServices: (query) => tools.discoverServices(query ?? {}),
    discoverTools: (query) => tools.discoverTools(query ?? {}),
    getService: (id) => tools.getService(id),
    getTool: ({ serviceId, toolId }) => tools.getTool(serviceId, toolId),
    getToolDocs: ({ serviceId, toolId }) => tools.getToolDocs(serviceId, toolId),
    ask: async () => {
      throw new ToolError("ask_unavailable", "Nobody can be asked: this server has no approvals.");
    },
  };
}

async function invokeTool(
  registry: RunRegistry,
  tools: ToolHost,
  timeoutMs: number,
  input: InvokeInput,
): Promise<unknown> {
  const run = input.eid === undefined ? undefined : registry.get(input.eid);
  if (!run || run.signal.aborted) throw runIsOver();
  if (run.trail.isFull()) {
    throw new ToolError("too_many_calls", `A run may make at most ${MAX_TRAIL_CALLS} tool calls.`, 429);
  }
  const { serviceId, toolId, parameters } = input;
  const end = run.trail.begin(serviceId, toolId, parameters);
  // A cut is recorded at once, not when the race below is lost: the trail is read as soon as the run is over.
  const call = openCall(run.signal, input.signal, timeoutMs, (error) => end(endingOf(error)));
  try {
    const hosted = { serviceId, toolId, parameters, eid: run.id, signal: call.signal };
    // A race, because the run must not wait for an adapter that ignores its signal.
    const result = await Promise.race([tools.invoke(hosted), call.cutOff]);
    end({ status: "ok", result });
    return result;
  } catch (error) {
    end(endingOf(error));
    throw error;
  } finally {
    call[Symbol.dispose]();
    run.noteCall();
  }
}

interface OpenCall extends Disposable {
  signal: AbortSignal;
  /** Rejects when the call is cut off. */
  cutOff: Promise<never>;
}

/** Cuts a call off when its run is over, its issuer gives up or its time has passed, whichever is first. */
function openCall(
  runOver: AbortSignal,
  givenUp: AbortSignal | undefined,
  maxMs: number,
  onCut: (error: ToolError) => void,
): OpenCall {
  const controller = new AbortController();
  const { promise: cutOff, reject } = Promise.withResolvers<never>();
  cutOff.catch(() => {});
  const cut = (error: ToolError) => {
    onCut(error);
    controller.abort(error);
    reject(error);
  };
  const onRunOver = () => cut(runIsOver());
  const onGivenUp = () => cut(new ToolError("call_canceled", "The call was canceled."));
  const timer = setTimeout(() => cut(timedOut(maxMs)), maxMs);
  runOver.addEventListener("abort", onRunOver, { once: true });
  givenUp?.addEventListener("abort", onGivenUp, { once: true });
  if (givenUp?.aborted) onGivenUp();
  return {
    signal: controller.signal,
    cutOff,
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      runOver.removeEventListener("abort", onRunOver);
      givenUp?.removeEventListener("abort", onGivenUp);
    },
  };
}

function runIsOver(): ToolError {
  return new ToolError("run_ended", "The run of this call has ended.");
}

function timedOut(maxMs: number): ToolError {
  return new ToolError(
    "call_timeout",
    `The call took longer than ${maxMs} ms (CYRNEL_INVOKE_TIMEOUT_MS).`,
    504,
  );
}

function endingOf(error: unknown): CallEnding {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const message = error instanceof Error ? error.message : String(error);
  if (code === "run_ended" || code === "call_canceled") return { status: "canceled", error: message };
  return { status: typeof code === "string" && DENIED_CODES.has(code) ? "denied" : "error", error: message };
}

function toBytes(data: unknown): Buffer {
  if (Buffer.isBuffer(data)) return data;
  if (data instanceof Uint8Array) return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (typeof data === "string") return Buffer.from(data);
  throw new TypeError("emitStdout and emitStderr take a Buffer.");
}

function toObject(data: unknown): Record<string, unknown> {
  if (typeof data === "object" && data !== null && !Array.isArray(data))
    return data as Record<string, unknown>;
  throw new TypeError("emitOutput takes an object.");
}
