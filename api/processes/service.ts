/**
 * What can be done with processes, for HTTP and for every later surface: rules and refusals. The statements are in
 * the stores, the running in the dispatcher, the wire format in render.ts and events.ts.
 */
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "#api/config.ts";
import type { Db } from "#api/db/pool.ts";
import { AppError } from "#api/errors.ts";
import type { Environments } from "#api/modules/environments.ts";
import type { ModuleLogger } from "#sdk";
import { Dispatcher, INTERRUPTED, type StoredRun } from "./dispatcher.ts";
import { EndingWriter } from "./ending-writer.ts";
import {
  type EventSource,
  EXPECTED_EVENT_ID,
  followProcess,
  parseEventId,
  runOfSource,
  sourceOfLiveRun,
  sourceOfStored,
} from "./events.ts";
import { ProcessFeed } from "./feed.ts";
import { clampLimits, MAX_OUTPUT_BYTES, MAX_RESULT_BYTES } from "./limits.ts";
import type { LiveRun } from "./live/run.ts";
import type { TrailCall } from "./live/trail.ts";
import type { CreateProcessBody, ListQuery, RunSignalBody } from "./model.ts";
import type { RunRegistry } from "./registry.ts";
import { type ProcessView, viewLiveRun, viewStored } from "./render.ts";
import { startRetention } from "./retention.ts";
import { HELD_STATES, type ProcessState } from "./states.ts";
import {
  cancelQueued,
  changeHeldState,
  deleteProcess,
  findIdempotencyKey,
  type IdempotencyKey,
  type InsertOutcome,
  insertProcess,
  type Placement,
  type ProcessRow,
  restartProcess,
} from "./store.ts";
import {
  listProcesses,
  readCalls,
  readCode,
  readOutput,
  readProcess,
  readProcessRow,
  readStream,
  type SummaryResults,
  summaryOf,
} from "./store-reads.ts";
import { countQueued, endAbandonedRuns } from "./store-sweeps.ts";
import { type WaitOptions, waitUntilIdle, waitUntilSettled } from "./waits.ts";

const IDEMPOTENCY_TTL_MS = 24 * 60 * 60_000;
const MAX_KEY_ATTEMPTS = 5;
/** JSON of results in one page of a listing: a page ends early rather than be larger. More than one record can have. */
const MAX_PAGE_RESULTS_BYTES = 16 * 1024 * 1024;
/** A process that the database calls running is in memory a moment later. */
const CLAIM_VISIBLE_ATTEMPTS = 20;
const CLAIM_VISIBLE_DELAY_MS = 25;

export type ProcessesConfig = Pick<
  Config,
  | "maxActiveProcesses"
  | "maxStdoutBytes"
  | "maxStderrBytes"
  | "maxTimeoutMs"
  | "maxCpuMs"
  | "retentionDays"
  | "retentionMax"
>;

export interface ProcessesDeps {
  db: Db;
  environments: Environments;
  /** The registry the bindings of the environments were made with. */
  registry: RunRegistry;
  log: ModuleLogger;
  config: ProcessesConfig;
}

export interface CreateContext {
  /** Keys of different callers are different keys. */
  caller: string;
  idempotencyKey: string | null;
  /** Aborts when the client has gone. */
  signal: AbortSignal;
}

export interface ListedProcess {
  row: ProcessRow;
  results: SummaryResults;
}

export interface ProcessPage {
  processes: ListedProcess[];
  /** Where the next page begins: ids below. Null on the last page. */
  nextBefore: number | null;
}

export type ProcessService = ReturnType<typeof createProcessService>;

/** Call `start` before the first request and `drain`, then `close`, at the end. Refusals are AppErrors. */
export function createProcessService({ db, environments, registry, log, config }: ProcessesDeps) {
  const feed = new ProcessFeed();
  const writer = new EndingWriter(db, log);
  const dispatcher = new Dispatcher({
    db,
    environments,
    registry,
    feed,
    writer,
    log,
    maxActiveProcesses: config.maxActiveProcesses,
    limits: {
      maxStdoutBytes: config.maxStdoutBytes,
      maxStderrBytes: config.maxStderrBytes,
      maxOutputBytes: MAX_OUTPUT_BYTES,
      maxResultBytes: MAX_RESULT_BYTES,
    },
  });
  let retention: AsyncDisposable | null = null;

  /** Ends what a dead server left running, takes over its queue, begins retention. */
  async function start(): Promise<void> {
    const { error } = INTERRUPTED;
    const ended = error ? await endAbandonedRuns(db, error) : 0;
    const queued = await countQueued(db);
    if (ended + queued > 0)
      log.info({ ended, queued }, "took over the processes of the server before this one");
    dispatcher.open(queued);
    const { retentionDays, retentionMax } = config;
    retention = startRetention(db, { retentionDays, retentionMax, keyTtlMs: IDEMPOTENCY_TTL_MS }, log);
  }

  /** Stores a process and, unless told otherwise, runs it. With `block` the view is that of the ended run. */
  async function create(
    body: CreateProcessBody,
    context: CreateContext,
    attemptsLeft = MAX_KEY_ATTEMPTS,
  ): Promise<{ id: number; view: ProcessView | null }> {
    const key =
      context.idempotencyKey === null ? null : makeKey(context.caller, context.idempotencyKey, body);
    const insert = (run: Placement | "queued" | null) => insertProcess(db, describeNew(body), run, key);
    const outcome = body.autorun
      ? (
          await dispatcher.submit(async (placement) => {
            const inserted = await insert(placement ?? "queued");
            const stored = inserted.kind === "stored" ? { row: inserted.row, code: body.code } : null;
            return { inserted, stored };
          })
        ).inserted
      : await insert(null);
    const id = await resolveInserted(outcome, key, body);
    if (id === "retry") {
      if (attemptsLeft === 1)
        throw new Error("the process of an idempotency key is deleted each time it is created");
      return create(body, context, attemptsLeft - 1);
    }
    const view = body.autorun && body.block ? await untilIdle(id, context.signal) : null;
    return { id, view };
  }

  function describeNew(body: CreateProcessBody) {
    const status = environments.active()?.status() ?? null;
    return { ref: body.ref ?? null, code: body.code, ...clampLimits(body.options, config, status) };
  }

  async function resolveInserted(
    outcome: InsertOutcome,
    key: IdempotencyKey | null,
    body: CreateProcessBody,
  ): Promise<number | "retry"> {
    switch (outcome.kind) {
      case "stored":
        return outcome.row.id;
      case "ref_taken":
        throw new AppError(
          "ref_taken",
          `Another process has the ref "${body.ref}". Choose one that is not in use.`,
        );
      case "key_known": {
        const first = key && (await findIdempotencyKey(db, key.caller, key.key));
        // Its process was deleted a moment ago, and the key with it.
        if (!key || !first) return "retry";
        if (first.bodyHash.equals(key.bodyHash)) return first.processId;
        throw new AppError(
          "idempotency_mismatch",
          "This Idempotency-Key was used for another body in the last 24 hours. Send the same body, or a new key.",
        );
      }
    }
  }

  async function get(id: number, waitMs: number, signal: AbortSignal): Promise<ProcessView> {
    const view = await (waitMs === 0 ? readView(id) : waitUntilSettled(waitOptions(id, signal), waitMs));
    return view ?? refuseUnknown(id);
  }

  async function list(query: ListQuery, before: number | null): Promise<ProcessPage> {
    const shown = new Map<number, ProcessState>();
    for (const { live } of registry.all()) if (live.state === "queued") shown.set(live.id, live.state);
    const { state, status, ref, limit } = query;
    const maxResultsBytes = MAX_PAGE_RESULTS_BYTES;
    const rows = await listProcesses(db, { state, status, ref, limit, before, shown, maxResultsBytes });
    const page: ListedProcess[] = [];
    let bytes = 0;
    for (const row of rows.slice(0, limit)) {
      const live = (HELD_STATES as readonly ProcessState[]).includes(row.state)
        ? registry.get(row.id)
        : undefined;
      const item = live ? viewLiveRun(live) : { row, results: summaryOf(row) };
      bytes += item.results.output.length + (item.results.result?.length ?? 0);
      if (page.length > 0 && (row.overflow || bytes > MAX_PAGE_RESULTS_BYTES)) break;
      page.push(item);
    }
    return { processes: page, nextBefore: rows.length > page.length ? (page.at(-1)?.row.id ?? null) : null };
  }

  async function getCode(id: number): Promise<string> {
    return registry.get(id)?.code ?? (await readCode(db, id)) ?? refuseUnknown(id);
  }

  /** JSON text. */
  async function getOutput(id: number): Promise<string> {
    const row = (await readOutput(db, id)) ?? refuseUnknown(id);
    requireIdle(id, row.state);
    return row.output;
  }

  async function getStream(id: number, stream: "stdout" | "stderr"): Promise<Buffer> {
    const row = (await readStream(db, id, stream)) ?? refuseUnknown(id);
    requireIdle(id, row.state);
    return row.bytes;
  }

  async function getCalls(id: number): Promise<readonly TrailCall[]> {
    const live = registry.get(id);
    if (live) return live.trail.calls;
    const calls = await readCalls(db, id);
    if (calls.length === 0 && !(await readProcessRow(db, id))) refuseUnknown(id);
    return calls;
  }

  async function run(id: number, { force, block }: RunSignalBody, signal: AbortSignal): Promise<ProcessView> {
    if (registry.isUnconfirmed(id)) {
      throw new AppError(
        "process_not_idle",
        `The environment has not yet let go of the last run of process ${id}. Try again later.`,
      );
    }
    const { stored } = await dispatcher.submit(async (placement) => {
      const row = await restartProcess(db, id, placement, force);
      return { stored: row && ({ row, code: row.code } satisfies StoredRun) };
    });
    if (!stored) return refuseRun(id);
    if (block) return (await untilIdle(id, signal)) ?? refuseUnknown(id);
    return (await readView(id)) ?? refuseUnknown(id);
  }

  async function refuseRun(id: number): Promise<never> {
    const row = (await readProcessRow(db, id)) ?? refuseUnknown(id);
    requireIdle(id, row.state);
    throw new AppError(
      "process_has_outputs",
      `Process ${id} has results of an earlier run. Send {"force": true} to clear them and run it again.`,
    );
  }

  async function kill(id: number): Promise<ProcessView> {
    for (let attempt = 0; attempt < CLAIM_VISIBLE_ATTEMPTS; attempt += 1) {
      const live = registry.get(id);
      if (live) return killLive(live);
      const canceled = await cancelQueued(db, id);
      if (canceled) {
        dispatcher.forgetQueued();
        feed.notify(id, "state");
        return (await readView(id)) ?? refuseUnknown(id);
      }
      const row = (await readProcessRow(db, id)) ?? refuseUnknown(id);
      if (row.state === "idle")
        throw new AppError("process_idle", `Process ${id} is not running, so there is nothing to kill.`);
      await sleep(CLAIM_VISIBLE_DELAY_MS);
    }
    throw new Error(`process ${id} is claimed by no run of this server`);
  }

  async function killLive(live: LiveRun): Promise<ProcessView> {
    if (live.state === "terminating") return viewLiveRun(live);
    try {
      const row = await changeHeldState(db, live.id, live.claim, "terminating");
      if (!row && !registry.get(live.id)) {
        throw new AppError("process_idle", `Process ${live.id} has just ended, so there is nothing to kill.`);
      }
    } finally {
      // Also when the database is away: a run that is to stop must stop.
      if (registry.get(live.id) === live) {
        live.markKilled();
        dispatcher.requestEnd(live.id);
      }
    }
    return viewLiveRun(live);
  }

  async function remove(id: number): Promise<void> {
    if (await deleteProcess(db, id)) {
      feed.notify(id, "state");
      return;
    }
    const row = (await readProcessRow(db, id)) ?? refuseUnknown(id);
    requireIdle(id, row.state);
  }

  /** Server-sent events as text; null when the client has the whole of a finished process already. */
  async function follow(
    id: number,
    lastEventId: string | null,
    signal: AbortSignal,
  ): Promise<AsyncGenerator<string, void> | null> {
    const from = lastEventId === null ? null : parseEventId(lastEventId);
    if (lastEventId !== null && !from) {
      const message = `Last-Event-ID is not valid: expected ${EXPECTED_EVENT_ID}.`;
      throw new AppError("invalid_request", message, {
        issues: [{ path: "headers.last-event-id", message }],
      });
    }
    // One stream shows one run to its end, also when the next run has begun before a slow client has read it all.
    let live: LiveRun | undefined;
    const read = async (): Promise<EventSource | null> => {
      live ??= registry.get(id);
      if (live && (live.isStored || live.state !== "idle")) return sourceOfLiveRun(live, viewLiveRun(live));
      const stored = await readProcess(db, id);
      return stored && sourceOfStored(viewStored(stored), await readCalls(db, id));
    };
    const first = (await read()) ?? refuseUnknown(id);
    const isComplete =
      first.view.row.state === "idle" && from?.state === "ended" && from.run === runOfSource(first);
    return isComplete ? null : followProcess({ id, feed, from, read, signals: [signal, feed.closed] });
  }

  async function readView(id: number): Promise<ProcessView | null> {
    const live = registry.get(id);
    if (live) return viewLiveRun(live);
    const stored = await readProcess(db, id);
    return stored && viewStored(stored);
  }

  async function untilIdle(id: number, signal: AbortSignal): Promise<ProcessView | null> {
    const view = await waitUntilIdle(waitOptions(id, signal));
    if (view !== "aborted") return view;
    throw new AppError(
      "shutting_down",
      `The server is shutting down. Process ${id} is kept: read it later.`,
      {
        retryAfterSeconds: 5,
      },
    );
  }

  function waitOptions(id: number, signal: AbortSignal): WaitOptions {
    return { registry, feed, id, read: () => readView(id), signals: [signal, feed.closed] };
  }

  /** Lets runs finish for up to `timeoutMs`, then ends them as interrupted; queued processes stay queued. */
  async function drain(timeoutMs: number): Promise<void> {
    await dispatcher.drain(timeoutMs);
    feed.close();
    await retention?.[Symbol.asyncDispose]();
  }

  /** Counts for readiness, metrics and leak checks. */
  function health() {
    return {
      active: dispatcher.active,
      queued: dispatcher.queued,
      running: registry.size,
      slotsTaken: dispatcher.slotsTaken,
      /** Endings that wait for the database. */
      unstored: writer.waiting,
      listeners: feed.size,
    };
  }

  return {
    start,
    create,
    get,
    list,
    getCode,
    getOutput,
    getStream,
    getCalls,
    run,
    kill,
    remove,
    follow,
    drain,
    health,
  };
}

type TimedKey = IdempotencyKey & { keyTtlMs: number };

function makeKey(caller: string, key: string, body: CreateProcessBody): TimedKey {
  const bodyHash = createHash("sha256").update(JSON.stringify(body)).digest();
  return { caller, key, bodyHash, keyTtlMs: IDEMPOTENCY_TTL_MS };
}

function refuseUnknown(id: number): never {
  throw new AppError("not_found", `There is no process ${id}.`);
}

function requireIdle(id: number, state: ProcessState): void {
  if (state === "idle") return;
  throw new AppError(
    "process_not_idle",
    `Process ${id} is ${state}; this needs it to be idle. Wait for its end, or kill it.`,
  );
}
