/**
 * One execution from its submission to its outcome, the same in every environment: prepares the source, waits for a place,
 * takes a child and has the run on it supervised.
 */
import type {
  EnvironmentBindings,
  ErrorDetail,
  ExecutionExitState,
  ExecutionInput,
  ExecutionOutcome,
  ModuleLogger,
} from "#sdk";
import type { Wall } from "../isolation/wall.ts";
import type { Pool } from "../pool/pool.ts";
import type { Child } from "../pool/spawn.ts";
import { prepareSource } from "../preparer/prepare.ts";
import type { Monitor } from "../process/monitor.ts";
import type { FindPackage, UsedPackage } from "../source/modules/graph.ts";
import { DEFAULT_SESSION_LIMITS, type SessionLimits, type StartParams } from "../wire/protocol.ts";
import { type Checkpoint, makeCheckpoint, readCheckpoint } from "./checkpoint.ts";
import { type BodyFiles, createBodyFiles, createModuleReader, fileCalls } from "./file-calls.ts";
import { blameHost, tellSuspicion } from "./outcome.ts";
import type { LoadedPackage, Packages } from "./packages.ts";
import { makeStart } from "./session.ts";
import type { RunSettings } from "./settings-schema.ts";
import {
  type RunChild,
  type RunLimits,
  type RunOutcome,
  type SupervisedRun,
  superviseRun,
} from "./supervisor.ts";

/** A place in use. */
export interface Place {
  /** Frees it for the next in line. Idempotent. */
  release(): void;
  /** Takes a released place again at once, beyond the count if need be. Idempotent. */
  takeBack(): void;
}

export interface Places {
  /**
   * Waits for a place, at most `ttlMs` (null: without limit). `expired`: there was none in time; `aborted`: the signal came
   * first. Never rejects.
   */
  acquire(ttlMs: number | null, signal: AbortSignal): Promise<Place | "expired" | "aborted">;
}

/** What executions share. */
export interface ExecutionContext {
  config: RunSettings;
  bindings: EnvironmentBindings;
  packages: Packages;
  logger: ModuleLogger;
  pool: Pool;
  places: Places;
  monitor: Monitor;
  wall: Wall;
  /** What a run waits for, for its author: "process" or "slot". */
  unit: string;
  /** See tellSuspicion. */
  suspect?: (() => void) | undefined;
  /** Opens a run on a child that serves several; without it, a child is killed after its run. */
  openRun?: ((child: Child, limits: RunLimits) => OpenRun) | undefined;
}

/** A run on a child that serves several. */
export interface OpenRun {
  /** The child with a channel that ends with the run. */
  child: RunChild;
  /** The final outcome, by what the child says of the run. Called once the supervised run is over. */
  conclude(outcome: RunOutcome): Promise<RunOutcome>;
  /** Resolves when the child is back in the pool, or ended. Never rejects. */
  left: Promise<unknown>;
}

/** Children that may turn out to be gone, one after another, before the host is blamed. */
const MAX_ATTEMPTS = 3;
const KILLED: ErrorDetail = { name: "KilledError", message: "The run was killed.", reason: "killed" };

export interface Execution {
  /** Aborting it is a kill by a user. */
  readonly kill: AbortController;
  readonly over: PromiseWithResolvers<void>;
  isFrozen: boolean;
  /** Null until it has a child. */
  current: { run: SupervisedRun; place: Place; start: StartParams; packages: UsedPackage[] } | null;
}

/** Runs `input` to its end. `isQueued`: it has to wait. Rejects with `not_started` when the host cannot prepare it or start a child. */
export async function runExecution(
  on: ExecutionContext,
  input: ExecutionInput,
  execution: Execution,
  isQueued: boolean,
): Promise<ExecutionOutcome> {
  const { eid, options } = input;
  const { bindings, config } = on;
  const { signal } = execution.kill;
  const givenAt = performance.now();
  let before: Checkpoint | null = null;
  try {
    if (input.checkpoint !== undefined) before = readCheckpoint(input.checkpoint);
  } catch (error) {
    const { message } = error as Error;
    return refuse("failed", { name: "CheckpointError", message, reason: "replay_divergence" }, 0);
  }
  if (isQueued) bindings.setState(eid, "queued");
  // In line from the first moment: preparing takes longer for one source than for another.
  const acquiring = on.places.acquire(config.queueTtlMs, signal);
  const leaveLine = () => void acquiring.then((unused) => typeof unused === "object" && unused.release());
  const readModule = input.files?.length ? createModuleReader(input, bindings) : undefined;
  let bodyFiles: BodyFiles | null = null;
  const findPackage: FindPackage | undefined =
    bindings.findPackage && ((request) => on.packages.find(eid, before, request));
  const source = await prepareSource(input.code, { name: input.name, readModule, findPackage }).catch(
    (error) => {
      leaveLine();
      return blameHost(error);
    },
  );
  const preparedAt = performance.now();
  if (!source.ok) {
    leaveLine();
    return refuse("failed", { ...source.error, reason: "syntax_error" }, 0);
  }
  let packages: LoadedPackage[] = [];
  try {
    if (source.packages !== undefined) packages = await on.packages.load(eid, source.packages);
  } catch (error) {
    leaveLine();
    const { message } = error as Error;
    const reason = before === null ? "script_error" : "replay_divergence";
    return refuse("failed", { name: "PackageError", message, reason }, 0);
  }
  const place = await acquiring;
  const queuedMs = performance.now() - preparedAt;
  if (place === "aborted") return refuse("canceled", KILLED, queuedMs);
  if (place === "expired") {
    const message = `No ${on.unit} was free within ${config.queueTtlMs} ms.`;
    return refuse("canceled", { name: "QueueTimeoutError", message, reason: "queue_timeout" }, queuedMs);
  }

  const limits: RunLimits = {
    timeoutMs: options?.timeoutMs ?? null,
    cpuMs: options?.cpuMs ?? null,
    memoryMb: Math.min(options?.memoryMb ?? config.memoryMb, config.maxMemoryMb),
  };
  const sessionLimits: SessionLimits = {
    ...DEFAULT_SESSION_LIMITS,
    maxCalls: config.maxCalls,
    maxConcurrentCalls: config.maxConcurrentCalls,
    maxMessageBytes: config.maxMessageBytes,
    maxStdoutBytes: options?.maxStdoutBytes ?? DEFAULT_SESSION_LIMITS.maxStdoutBytes,
    maxStderrBytes: options?.maxStderrBytes ?? DEFAULT_SESSION_LIMITS.maxStderrBytes,
  };
  // A slot's isolates have limits of their own; a process child is started with its.
  const ownMemoryMb = on.openRun || limits.memoryMb === config.memoryMb ? undefined : limits.memoryMb;
  let left: Promise<unknown> | undefined;
  try {
    for (let attempt = 1; ; attempt++) {
      const child = await on.pool.take(signal, ownMemoryMb).catch(blameHost);
      if (child === null) return refuse("canceled", KILLED, queuedMs);
      if (attempt === 1) bindings.setState(eid, "running");
      const opened = on.openRun?.(child, limits);
      left = opened?.left;
      if (limits.cpuMs !== null) limitCpu(on, child, limits.cpuMs);
      const start = makeStart(input, source, sessionLimits, before);
      const run = superviseRun({
        child: opened?.child ?? child,
        monitor: on.monitor,
        start,
        ...(packages.length > 0 && { packages: on.packages.encode(packages, child.ready.isFork === true) }),
        calls: {
          async invoke(call, callSignal, seq, _bytes, saveTurn, openStream) {
            if (call.serviceId === "fetch") {
              bodyFiles ??= createBodyFiles(bindings, eid);
              bodyFiles.note(call);
            }
            const saving = call.saveAs === undefined ? {} : { saveTurn };
            const streaming = call.serviceId === "fetch" && call.saveAs !== undefined ? { openStream } : {};
            return bindings.invokeTool({
              ...dropUndefined(call),
              ...saving,
              ...streaming,
              ...{ eid, signal: callSignal, seq },
            });
          },
          discoverServices: (query) => bindings.discoverServices(dropUndefined(query), { eid }),
          async discoverTools(query) {
            const tools = await bindings.discoverTools(dropUndefined(query), { eid });
            return { tools, packages: tools.packages ?? [] };
          },
          getService: ({ id }) => bindings.getService(id, { eid }),
          getTool: (id) => bindings.getTool(id, { eid }),
          getToolDocs: (id) => bindings.getToolDocs(id, { eid }),
          ask: ({ message, schema }, callSignal, seq) =>
            bindings.ask(
              eid,
              { message, ...(schema !== undefined && { schema }) },
              { signal: callSignal, seq },
            ),
          readFile: (range) => fileCalls.readFile(bindings, eid, range),
          writeFile(piece, _signal, _seq, bytes) {
            bodyFiles?.forget(piece.name);
            return fileCalls.writeFile(bindings, eid, piece, bytes);
          },
          removeFile: (file) => fileCalls.removeFile(bindings, eid, file),
          copyFile(copy) {
            bodyFiles?.forget(copy.to);
            return fileCalls.copyFile(bindings, eid, copy);
          },
          resizeFile: (file) => fileCalls.resizeFile(bindings, eid, file),
        },
        events: {
          stdout: (data, level) => bindings.emitStdout(eid, data, level),
          stderr: (data, level) => bindings.emitStderr(eid, data, level),
          output: (value) => bindings.emitOutput(eid, value),
        },
        sessionLimits,
        limits,
        killSignal: signal,
        afterEnd: opened === undefined ? "kill" : "keep",
        before,
        restoreAnswer:
          bindings.restoreAnswer && ((seq) => bindings.restoreAnswer?.(eid, { seq }) as Promise<void>),
      });
      execution.current = { run, place, start, packages: source.packages ?? [] };
      let outcome = await run.outcome;
      if (opened !== undefined) outcome = await opened.conclude(outcome);
      const isLost = outcome.wasNeverStarted && !signal.aborted;
      if (isLost && attempt < MAX_ATTEMPTS) continue;
      tellSuspicion(on, { eid }, outcome);
      if (isLost)
        blameHost(
          new Error(`${attempt} children in a row ended before they had it. ${outcome.error?.message}`),
        );
      const {
        state: exitState,
        error,
        result,
        startedAt,
        wallMs,
        cpuMs,
        peakMemoryBytes,
        toolCalls,
        warned,
      } = outcome;
      await (bodyFiles as BodyFiles | null)?.remove();
      const startMs = Math.max(0, startedAt - givenAt - queuedMs);
      return {
        exitState,
        usage: { queuedMs, startMs, wallMs, cpuMs, peakMemoryBytes, toolCalls },
        ...warned,
        ...(error !== undefined && { error }),
        ...(result !== undefined && { result: result.value }),
      };
    }
  } finally {
    if (left === undefined) place.release();
    else void left.then(place.release);
  }
}

function refuse(exitState: ExecutionExitState, error: ErrorDetail, queuedMs: number): ExecutionOutcome {
  return { exitState, error, usage: { queuedMs } };
}

/** Freezes an execution; its place is free meanwhile. Answers what is needed to repeat it; null: it cannot be repeated. */
export async function pauseExecution(
  execution: Execution,
  { run, place, start, packages }: NonNullable<Execution["current"]>,
): Promise<Checkpoint | null> {
  const frozen = await run.pause();
  execution.isFrozen = true;
  place.release();
  const { seed, randomSeed } = start;
  const kept = packages.map(({ name, range, version, digest }) => ({ name, range, version, digest }));
  const used = kept.length > 0 ? { packages: kept } : {};
  return frozen && makeCheckpoint({ seed, randomSeed, ...used, ...frozen });
}

/** Lets a frozen execution go on, beyond the number of places if need be. */
export function resumeExecution(execution: Execution): void {
  if (!execution.isFrozen) return;
  execution.isFrozen = false;
  execution.current?.place.takeBack();
  execution.current?.run.resume();
}

/** A child that cannot be limited is ended; the run then goes to another one. */
function limitCpu({ wall, logger, openRun }: ExecutionContext, child: Child, cpuMs: number): void {
  try {
    wall.limitCpu(child.pid, cpuMs, openRun ? "until the next" : "for good");
  } catch (error) {
    logger.warn({ err: error }, "The CPU time of a child could not be limited; it is ended.");
    child.kill();
  }
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

function dropUndefined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Defined<T>;
}
