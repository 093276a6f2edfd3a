/**
 * What the host does for environments: reports of a run land on the live run they name, and nowhere else; tool calls
 * are made on behalf of their run, recorded in its trail, and cut off when the run is over.
 */
import { retryWhileAway } from "#api/db/retry.ts";
import type { CallCaller, CallWorkspace } from "#api/tools/gate.ts";
import { WORKSPACE_LIMIT_ERROR } from "#kernel/file-names.ts";
import type { Workspace } from "#runner/workspace/workspace.ts";
import type {
  CallContext,
  EnvironmentBindings,
  FoundPackage,
  OpenStream,
  PackageCode,
  PackageRequest,
  PrintLevel,
  SavedAnswer,
  SaveTurn,
  ToolRequest,
} from "#sdk";
import { type LoggedCall, MAX_TRAIL_CALLS } from "../live/calls.ts";
import type { RunRegistry } from "../live/registry.ts";
import type { LiveRun } from "../live/run.ts";
import type { PackageHost } from "../model/packages.ts";
import type { CallEnding } from "../model/records.ts";
import type { CallStatus } from "../model/schemas.ts";
import { ToolError, type ToolHost } from "../model/tool-host.ts";
import type { Pausing } from "../pausing/pausing.ts";
import { type AskingRun, askPerson, type CallRequest, createCallRequest } from "./requests.ts";

export interface BindingsOptions {
  registry: RunRegistry;
  tools: ToolHost;
  /** Absent: no person can be asked. */
  pausing?: Pausing;
  /** Absent: scripts have no packages. */
  packages?: PackageHost;
}

/** Reports about a run that is not (any more) in memory are dropped. Malformed ones throw TypeError. */
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
  if (!run || run.isOver || run.opened.disposed) throw runIsOver();
  return run.workspace;
}

function createRestore(registry: RunRegistry, pausing: Pausing) {
  return async (eid: number, { seq }: { seq: number }): Promise<void> => {
    const run = registry.get(eid);
    if (!run || run.isOver || run.opened.disposed) throw runIsOver();
    await pausing.restoreAnswer(run, seq);
  };
}

/** What is found is the run's from then on: it may read it, and its record names it. */
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
  if (!run || run.isOver) throw runIsOver();
  const found = await retryWhileAway(() => packages.find(callerOf(run), request), run.signal);
  if (!("message" in found)) run.notePackage(found);
  return found;
}

/** Of those only that were found for the run: a child may ask for any digest. */
async function readPackage(
  registry: RunRegistry,
  packages: PackageHost,
  eid: number,
  digest: string,
): Promise<PackageCode> {
  const trial = packages.trial(eid);
  if (trial !== null && trial.digest === digest) return { code: trial.code, mappings: trial.mappings };
  const run = registry.get(eid);
  if (!run || run.isOver) throw runIsOver();
  if (!run.packages.some((one) => one.digest === digest)) {
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
 * On whose behalf something is looked up. An environment that does not say for which run is shown only what every run
 * it may be for can see: runs of the same keys share their roles, and for any others there is no caller who sees what all see.
 * The signal is aborted when the run is over.
 */
function findAsker(registry: RunRegistry, eid: number | undefined): [CallCaller, AbortSignal] {
  if (eid !== undefined) {
    const run = registry.get(eid);
    if (run === undefined) throw runIsOver();
    return [callerOf(run), run.signal];
  }
  const runs = registry.all();
  if (!haveSameRights(runs)) throw eidMissing();
  return [runs[0]?.rights ?? {}, runs[0]?.signal ?? AbortSignal.abort()];
}

/**
 * The run that makes a call. An environment written to the basic contract does not say which: it is the one that the call
 * comes out of `execute` of, else the only one. Never beside a run of another key: what a context says can be stale (a
 * worker that the first run started serves all), and a call must not be made with the rights of another key.
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
  request: Parameters<EnvironmentBindings["ask"]>[1],
  call: Parameters<EnvironmentBindings["ask"]>[2],
): Promise<unknown> {
  const run = registry.get(eid);
  if (!run || run.signal.aborted) throw runIsOver();
  if (pausing === undefined) {
    throw new ToolError("ask_unavailable", "No person can be asked: this server has no approvals.");
  }
  const signal = call === undefined ? run.signal : AbortSignal.any([run.signal, call.signal]);
  return askPerson(pausing, askingRun(pausing, run), request, {
    seq: call?.seq ?? run.calls.nextSeq(),
    signal,
  });
}

async function invokeTool(
  { registry, tools, pausing }: BindingsOptions,
  input: ToolRequest,
): Promise<unknown> {
  const run = findCaller(registry, input.eid);
  if (!run || run.signal.aborted || run.opened.disposed) throw runIsOver();
  if (run.calls.isFull()) {
    throw new ToolError("too_many_calls", `A run may make at most ${MAX_TRAIL_CALLS} tool calls.`, 429);
  }
  const { serviceId, toolId, parameters, saveAs, saveTurn, throwOnError, openStream } = input;
  if (saveAs !== undefined) run.workspace.checkName(saveAs);
  const seq = input.seq ?? run.calls.nextSeq();
  const logged = run.calls.begin({ seq, serviceId, toolId, parameters, saveAs });
  const workspace = openForCall(run, saveAs, logged, saveTurn);
  const request = pausing && createCallRequest(pausing, askingRun(pausing, run, saveTurn), logged);
  const signal = input.signal === undefined ? run.signal : AbortSignal.any([run.signal, input.signal]);
  const caller = callerOf(run);
  const { clock, resolve: onResolved, answered: onAnswered, warn } = logged;
  const invoke = () =>
    tools.invoke({
      serviceId,
      toolId,
      parameters,
      caller,
      signal,
      run: request,
      clock,
      workspace,
      onResolved,
      warn,
      onAnswered,
      throwOnError,
      openStream: openStream && openForAnswer(openStream, logged, request),
    });
  try {
    const result = await (request ? (request.repeated() ?? request.carryOut(invoke)) : invoke());
    logged.end({ status: "ok", result });
    const size = logged.saved?.size ?? null;
    return saveAs === undefined ? result : ({ answer: result, size } satisfies SavedAnswer);
  } catch (error) {
    logged.end(endingOf(error));
    throw workspace.exceeded ?? error;
  } finally {
    run.noteCall();
  }
}

/** What is recorded of the call when its script gets the answer before the body. */
function openForAnswer(
  open: OpenStream,
  call: LoggedCall,
  request: Pick<CallRequest, "answer"> | undefined,
): OpenStream {
  return () => {
    const stream = open();
    if (stream === null) return null;
    return async (answer, bytes) => {
      await request?.answer(answer);
      call.streaming(answer);
      await stream({ answer, size: null } satisfies SavedAnswer, bytes);
    };
  };
}

interface OpenedForCall extends CallWorkspace {
  /** More was to be saved than a run may write: it ends by this. */
  exceeded?: unknown;
}

/** The files as they are at the call, whenever it is made. */
function openForCall(
  run: LiveRun,
  name: string | undefined,
  call: LoggedCall,
  turn: SaveTurn | undefined,
): OpenedForCall {
  const opened: OpenedForCall = { files: run.snapshotFiles() };
  if (name === undefined) return opened;
  const { workspace } = run;
  opened.saveAs = {
    name,
    async save(bytes) {
      try {
        const saved = await workspace.save(name, bytes, turn);
        call.noteSaved(saved);
        return saved;
      } catch (error) {
        if (error instanceof Error && error.name === WORKSPACE_LIMIT_ERROR) opened.exceeded = error;
        throw error;
      }
    },
  };
  return opened;
}

function askingRun(pausing: Pausing, run: LiveRun, turn?: SaveTurn): AskingRun {
  return {
    id: run.id,
    calls: run.calls,
    restoreAnswer: (seq) => pausing.restoreAnswer(run, seq, turn),
    findPauses: () => pausing.find(run),
    pauses() {
      // It may have ended while the policies were asked.
      if (run.opened.disposed) throw runIsOver();
      return pausing.of(run);
    },
  };
}

function eidMissing(): ToolError {
  return new ToolError(
    "eid_missing",
    "It cannot be told which of several runs asks: the environment has to say so, as in invokeTool({ eid, serviceId, toolId, parameters }) with the eid that execute was given.",
  );
}

function runIsOver(): ToolError {
  return new ToolError("run_ended", "The run of this call has ended.", undefined, "canceled");
}

const FAILED: ReadonlySet<unknown> = new Set<CallStatus>(["error", "denied", "canceled"]);

/** What the host says of a failure is its `outcome`; what an adapter threw never has one. */
function endingOf(error: unknown): CallEnding {
  const outcome = error instanceof Error && "outcome" in error ? error.outcome : undefined;
  const message = error instanceof Error ? error.message : String(error);
  return { status: FAILED.has(outcome) ? (outcome as CallStatus) : "error", error: message };
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
