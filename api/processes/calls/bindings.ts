/**
 * Host side of environments. Reports change only the live run they name. Tool calls are made on behalf of their run,
 * recorded in its trail, and canceled when the run ends.
 */
import { retryWhileAway } from "#api/db/retry.ts";
import type { CallCaller, CallWorkspace, ToolHost } from "#api/tools/contract.ts";
import { WORKSPACE_LIMIT_ERROR } from "#kernel/file-names.ts";
import type { Workspace } from "#runner/workspace/workspace.ts";
import type {
  CallContext,
  EnvironmentBindings,
  FoundPackage,
  PackageCode,
  PackageRequest,
  PrintLevel,
  SavedAnswer,
  SaveTurn,
  ToolRequest,
} from "#sdk";
import type { LoggedCall } from "../live/calls.ts";
import type { RunRegistry } from "../live/registry.ts";
import type { LiveRun } from "../live/run.ts";
import { MAX_TRAIL_CALLS } from "../live/trail.ts";
import type { PackageHost } from "../model/packages.ts";
import type { Pausing } from "../pausing/pausing.ts";
import { askApprover } from "./ask.ts";
import { type RequestingRun, RunCall } from "./call.ts";
import { endingOf, runEnded, ToolError } from "./errors.ts";

export interface BindingsOptions {
  registry: RunRegistry;
  tools: ToolHost;
  pausing?: Pausing;
  packages?: PackageHost;
}

/** Creates the bindings. Reports about a run that is not in memory are ignored; malformed reports throw TypeError. */
export function createBindings(options: BindingsOptions): EnvironmentBindings {
  const { registry, tools, packages } = options;
  const asker = (context: CallContext | undefined) => findAsker(registry, context?.eid);
  return {
    invokeTool: (input) => invokeTool(options, input),
    setState: (eid, state) => registry.get(eid)?.setState(state),
    setError: (eid, error) => registry.get(eid)?.setError(error),
    emitStdout: (eid, data, level) => registry.get(eid)?.write("stdout", toBytes(data), toLevel(level)),
    emitStderr: (eid, data, level) => registry.get(eid)?.write("stderr", toBytes(data), toLevel(level)),
    emitOutput: (eid, data) => registry.get(eid)?.emitOutput(toObject(data)),
    setResult: (eid, value) => registry.get(eid)?.setResult(value),
    setUsage: (eid, usage) => registry.get(eid)?.setUsage(usage),
    discoverServices: async (query, context) => tools.discoverServices(query ?? {}, ...asker(context)),
    async discoverTools(query = {}, context) {
      const [caller, signal] = asker(context);
      const found = await tools.discoverTools(query, caller, signal);
      if (!packages || query.serviceId !== undefined || !query.query) return found;
      return Object.assign(found, { packages: packages.search(caller, query.query) });
    },
    getService: async (id, context) => tools.getService(id, ...asker(context)),
    getTool: async (path, context) => tools.getTool(path, ...asker(context)),
    getToolDocs: async (path, context) => tools.getToolDocs(path, ...asker(context)),
    ask: (eid, request, call) => ask(options, eid, request, call),
    readFile: async (eid, { name, offset, length }) => workspaceOf(registry, eid).read(name, offset, length),
    writeFile: async (eid, write) => workspaceOf(registry, eid).write(write),
    removeFile: async (eid, { name }) => workspaceOf(registry, eid).remove(name),
    copyFile: async (eid, copy) => workspaceOf(registry, eid).copy(copy),
    resizeFile: async (eid, file) => workspaceOf(registry, eid).resize(file),
    ...(options.pausing !== undefined && { restoreAnswer: createRestore(registry, options.pausing) }),
    ...(packages && {
      findPackage: (eid, request) => findPackage(registry, packages, eid, request),
      readPackage: (eid, digest) => readPackage(registry, packages, eid, digest),
    }),
  };
}

function workspaceOf(registry: RunRegistry, eid: number): Workspace {
  const run = registry.get(eid);
  if (!run || run.isOver || run.opened.disposed) throw runEnded();
  return run.files.workspace;
}

function createRestore(registry: RunRegistry, pausing: Pausing) {
  return async (eid: number, { seq }: { seq: number }): Promise<void> => {
    const run = registry.get(eid);
    if (!run || run.isOver || run.opened.disposed) throw runEnded();
    await pausing.restoreAnswer(run, seq);
  };
}

/** Resolves a package, records it with the run, and allows the run to read it from now on. */
async function findPackage(
  registry: RunRegistry,
  packages: PackageHost,
  eid: number,
  request: PackageRequest,
): Promise<FoundPackage | { message: string }> {
  const trial = packages.trial(eid);
  if (trial !== null) {
    const { name, version, digest, exports } = trial;
    return request.name === name ? { name, version, digest, exports } : { message: "Only one is tried." };
  }
  const run = registry.get(eid);
  if (!run || run.isOver) throw runEnded();
  const found = await retryWhileAway(() => packages.find(callerOf(run), request), run.signal);
  if (!("message" in found) && !run.isOver) run.results.recordPackage(found);
  return found;
}

/** Reads only packages that the run has resolved: a child may request any digest. */
async function readPackage(
  registry: RunRegistry,
  packages: PackageHost,
  eid: number,
  digest: string,
): Promise<PackageCode> {
  const trial = packages.trial(eid);
  if (trial !== null && trial.digest === digest) return { code: trial.code, mappings: trial.mappings };
  const run = registry.get(eid);
  if (!run || run.isOver) throw runEnded();
  if (!run.results.packages.some((one) => one.digest === digest)) {
    throw new Error("The run has imported no package of this digest.");
  }
  return retryWhileAway(() => packages.read(digest), run.signal);
}

function callerOf(run: LiveRun): CallCaller {
  return { processId: run.id, ...run.rights };
}

function haveSameRights(runs: readonly Pick<LiveRun, "rights">[]): boolean {
  return new Set(runs.map(({ rights }) => JSON.stringify(rights))).size <= 1;
}

/**
 * Returns the caller of a lookup and a signal that aborts when the run ends. If the environment does not name the
 * run, the caller sees only what all candidate runs can see: runs with the same keys share their roles; different
 * keys have no common caller.
 */
function findAsker(registry: RunRegistry, eid: number | undefined): [CallCaller, AbortSignal] {
  if (eid !== undefined) {
    const run = registry.get(eid);
    if (run === undefined) throw runEnded();
    return [callerOf(run), run.signal];
  }
  const runs = registry.all();
  if (!haveSameRights(runs)) throw eidMissing();
  return [runs[0]?.rights ?? {}, runs[0]?.signal ?? AbortSignal.abort()];
}

/**
 * Returns the run that makes a call. An environment that implements only the basic contract does not name it. Then
 * the run is the one whose `execute` started the call, or the only live run. Returns undefined while a run of another
 * key is live: the async context can be stale (a worker started by the first run serves all runs), and a call must
 * not use the rights of another key.
 */
function findCaller(registry: RunRegistry, eid: number | undefined): LiveRun | undefined {
  if (eid !== undefined) return registry.get(eid);
  const runs = registry.all();
  const context = registry.executing.getStore();
  const asked = [...runs, ...(context === undefined ? [] : [context])];
  const run = runs.find(({ id }) => id === context?.id) ?? (runs.length === 1 ? runs[0] : undefined);
  if (runs.length > 0 && (run === undefined || !haveSameRights(asked))) throw eidMissing();
  return run;
}

async function ask(
  { registry, pausing }: BindingsOptions,
  eid: number,
  question: Parameters<EnvironmentBindings["ask"]>[1],
  call: Parameters<EnvironmentBindings["ask"]>[2],
): Promise<unknown> {
  const run = registry.get(eid);
  if (!run || run.signal.aborted) throw runEnded();
  if (pausing === undefined) {
    throw new ToolError("ask_unavailable", "No approver can be asked: this server has no approvals.");
  }
  const signal = call === undefined ? run.signal : AbortSignal.any([run.signal, call.signal]);
  const seq = call?.seq ?? run.calls.nextSeq();
  return askApprover(pausing.options, describeRun(pausing, run), question, { seq, signal });
}

async function invokeTool(
  { registry, tools, pausing }: BindingsOptions,
  input: ToolRequest,
): Promise<unknown> {
  const run = findCaller(registry, input.eid);
  if (!run || run.signal.aborted || run.opened.disposed) throw runEnded();
  if (run.calls.isFull()) {
    throw new ToolError("too_many_calls", `A run may make at most ${MAX_TRAIL_CALLS} tool calls.`, 429);
  }
  const { serviceId, toolId, parameters, saveAs, saveTurn, throwOnError, openStream } = input;
  if (saveAs !== undefined) run.files.workspace.checkName(saveAs);
  const seq = input.seq ?? run.calls.nextSeq();
  const logged = run.calls.begin({ seq, serviceId, toolId, parameters, saveAs });
  const workspace = openForCall(run, saveAs, logged, saveTurn);
  const signal = input.signal === undefined ? run.signal : AbortSignal.any([run.signal, input.signal]);
  const { clock, answered: onAnswered, warn } = logged;
  const call = new RunCall(tools, describeRun(pausing, run, saveTurn), logged, pausing?.options ?? null);
  try {
    const result = await call.make({
      ...{ serviceId, toolId, parameters, signal, clock, workspace, openStream, throwOnError },
      caller: callerOf(run),
      warn,
      onAnswered,
    });
    logged.end({ status: "ok", result });
    const size = logged.saved?.size ?? null;
    return saveAs === undefined ? result : ({ answer: result, size } satisfies SavedAnswer);
  } catch (error) {
    logged.end(endingOf(error));
    throw workspace.exceeded ?? error;
  } finally {
    run.recordCall();
  }
}

interface OpenedForCall extends CallWorkspace {
  /** Set if the call tried to save more than a run may write; ends the run. */
  exceeded?: unknown;
}

/** Captures the files as they are when the call is made, no matter when it is performed. */
function openForCall(
  run: LiveRun,
  name: string | undefined,
  call: LoggedCall,
  turn: SaveTurn | undefined,
): OpenedForCall {
  const opened: OpenedForCall = { files: run.files.snapshot() };
  if (name === undefined) return opened;
  const { workspace } = run.files;
  opened.saveAs = {
    name,
    async save(bytes) {
      try {
        const saved = await workspace.save(name, bytes, turn);
        call.recordSaved(saved);
        return saved;
      } catch (error) {
        if (error instanceof Error && error.name === WORKSPACE_LIMIT_ERROR) opened.exceeded = error;
        throw error;
      }
    },
  };
  return opened;
}

function describeRun(pausing: Pausing | undefined, run: LiveRun, turn?: SaveTurn): RequestingRun {
  return {
    id: run.id,
    calls: run.calls,
    restoreAnswer: async (seq) => {
      if (pausing === undefined) throw new Error("this server replays no runs");
      return pausing.restoreAnswer(run, seq, turn);
    },
    findPauses: () => (run.hasApprovals || run.isReplay ? (pausing?.find(run) ?? null) : null),
    openPauses: () => (pausing === undefined || run.opened.disposed ? null : pausing.of(run)),
  };
}

function eidMissing(): ToolError {
  return new ToolError(
    "eid_missing",
    "Several runs are live, and the request does not name one. The environment must pass the eid that execute was given, as in invokeTool({ eid, serviceId, toolId, parameters }).",
  );
}

function toBytes(data: unknown): Buffer {
  if (Buffer.isBuffer(data)) return data;
  if (data instanceof Uint8Array) return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (typeof data === "string") return Buffer.from(data);
  throw new TypeError("emitStdout and emitStderr take a Buffer.");
}

function toLevel(level: unknown): PrintLevel | undefined {
  if (level === undefined || level === "debug" || level === "warn") return level;
  throw new TypeError('The level of emitStdout and emitStderr is "debug", "warn" or undefined.');
}

function toObject(data: unknown): Record<string, unknown> {
  if (typeof data === "object" && data !== null && !Array.isArray(data))
    return data as Record<string, unknown>;
  throw new TypeError("emitOutput takes an object.");
}
