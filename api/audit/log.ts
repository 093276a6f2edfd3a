/**
 * Stores audit records in order, in batches, one statement at a time, and retries until the database accepts them.
 * Records that the database rejects are logged. While records cannot be stored, `admit` rejects work that needs one.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Db } from "#api/db/pool.ts";
import { isRefusedData } from "../db/pool.ts";
import { AppError } from "../errors.ts";
import type { MovedFile } from "../tools/contract.ts";
import type { AuditOutcome } from "./model.ts";
import { describeParameters, type Redact } from "./parameters.ts";
import { type AuditRow, insertAuditRows } from "./store.ts";

export type AuditFile = Omit<MovedFile, "use"> & { use: MovedFile["use"] | "left" };

export interface AuditActor {
  kind: "anonymous" | "bootstrap" | "key" | "system";
  id?: string | undefined;
  name?: string | undefined;
}

export interface AuditEntry {
  actor: AuditActor;
  action: string;
  object?: { kind: string; id: string | null } | undefined;
  outcome: AuditOutcome;
  code?: string | undefined;
  /** HTTP status of the service's response to a tool call. */
  httpStatus?: number | undefined;
  requestId?: string | undefined;
  processId?: number | undefined;
  decision?: "allow" | "ask" | "block" | undefined;
  policyId?: string | undefined;
  /** JSON data, which is hashed and shortened at once. */
  parameters?: unknown;
  files?: readonly AuditFile[] | undefined;
}

export interface AuditLog {
  /**
   * Call before work that must be recorded. Resolves when there is room for a record, usually at once. Throws
   * AppError `audit_unavailable` if records could not be stored for a while.
   */
  admit(): Promise<void>;
  record(entry: AuditEntry): void;
  /** Resolves when the record is stored, or after `maxWaitMs`, in which case it is stored later. */
  recordStored(entry: AuditEntry, maxWaitMs: number): Promise<void>;
}

export interface AuditWriter extends AuditLog, AsyncDisposable {
  /** Resolves when everything recorded so far is stored, or after `maxWaitMs`, so that readers see recent actions. */
  allStored(maxWaitMs: number): Promise<void>;
  readonly waiting: number;
}

export interface AuditWriterOptions {
  db: Db;
  log: { error(fields: object, message: string): void };
  redact?: Redact;
  limits?: Partial<AuditLimits>;
}

export interface AuditLimits {
  maxWaitingRecords: number;
  maxAdmitMs: number;
  maxFailingMs: number;
  maxCloseMs: number;
}

const DEFAULT_LIMITS: AuditLimits = {
  maxWaitingRecords: 5000,
  maxAdmitMs: 5000,
  maxFailingMs: 10_000,
  maxCloseMs: 5000,
};
const MAX_BATCH_RECORDS = 500;
/**
 * Time to collect records that no caller awaits, because one statement and commit per record would slow every run.
 */
const GATHER_MS = 50;
const RETRY_MS = 250;
const ADMIT_RETRY_SECONDS = 5;

export function createAuditLog(options: AuditWriterOptions): AuditWriter {
  const { db, log, redact } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const waiting: AuditRow[] = [];
  const whenStored = new Map<AuditRow, Set<() => void>>();
  const roomAwaited = new Set<() => void>();
  const stopped = new AbortController();
  let writing: Promise<void> | null = null;
  let failingSinceMs: number | null = null;
  let isClosing = false;
  let stopGathering: () => void = () => {};

  function add(entry: AuditEntry): AuditRow {
    const row = toRow(entry, redact);
    // The limit is exceeded only if `admit` let in many requests at once.
    if (waiting.length >= 2 * limits.maxWaitingRecords) writeToLog([row]);
    else waiting.push(row);
    writing ??= writeAll();
    if (waiting.length >= MAX_BATCH_RECORDS) stopGathering();
    return row;
  }

  async function gather(): Promise<void> {
    if (isClosing || whenStored.size > 0 || waiting.length >= MAX_BATCH_RECORDS) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, GATHER_MS);
    stopGathering = resolve;
    await promise;
    clearTimeout(timer);
  }

  async function writeAll(): Promise<void> {
    // Gives the first record's caller time to state whether it waits for the record.
    await Promise.resolve();
    while (waiting.length > 0 && !stopped.signal.aborted) {
      await gather();
      const count = Math.min(waiting.length, MAX_BATCH_RECORDS);
      if ((await tryToStore(count)) === "refused") await storeOneByOne(count);
    }
    // Reset in the same turn as the check for waiting records, so that a record added now starts a new batch.
    writing = null;
  }

  /** Stores records separately, so that a record that the database rejects does not block the others. */
  async function storeOneByOne(count: number): Promise<void> {
    for (let done = 0; done < count && !stopped.signal.aborted; done += 1) {
      const outcome = await tryToStore(1);
      if (outcome === "refused") settle(1, "logged");
      if (outcome === "away") return;
    }
  }

  /** Stores the oldest `count` records. If the connection breaks, a record may be stored twice. */
  async function tryToStore(count: number): Promise<"stored" | "refused" | "away"> {
    try {
      await insertAuditRows(db, waiting.slice(0, count));
    } catch (error) {
      if (isRefusedData(error)) return "refused";
      failingSinceMs ??= performance.now();
      log.error({ err: error, waiting: waiting.length }, "audit records could not be stored; retrying");
      await sleep(RETRY_MS, undefined, { signal: stopped.signal }).catch(() => {});
      return "away";
    }
    failingSinceMs = null;
    settle(count, "stored");
    return "stored";
  }

  function settle(count: number, how: "stored" | "logged"): void {
    const rows = waiting.splice(0, count);
    if (how === "logged") writeToLog(rows);
    for (const row of rows) {
      for (const resolve of whenStored.get(row) ?? []) resolve();
      whenStored.delete(row);
    }
    for (const resolve of roomAwaited) resolve();
  }

  function writeToLog(rows: readonly AuditRow[]): void {
    for (const row of rows) {
      const shown = { ...row, parametersSha256: row.parametersSha256?.toString("hex") ?? null };
      log.error(
        { type: "audit", audit: shown },
        "an audit record was written to this log line instead of the database",
      );
    }
  }

  async function whenRowStored(row: AuditRow, maxWaitMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, maxWaitMs);
    const waiters = whenStored.get(row) ?? new Set();
    whenStored.set(row, waiters.add(resolve));
    stopGathering();
    await promise;
    clearTimeout(timer);
    waiters.delete(resolve);
    if (waiters.size === 0) whenStored.delete(row);
  }

  function isFailing(): boolean {
    return failingSinceMs !== null && performance.now() - failingSinceMs >= limits.maxFailingMs;
  }

  return {
    get waiting() {
      return waiting.length;
    },
    async admit() {
      if (waiting.length < limits.maxWaitingRecords && !isFailing()) return;
      const giveUpAtMs = performance.now() + limits.maxAdmitMs;
      while (!isFailing() && performance.now() < giveUpAtMs) {
        const { promise, resolve } = Promise.withResolvers<void>();
        const timer = setTimeout(resolve, giveUpAtMs - performance.now());
        roomAwaited.add(resolve);
        await promise;
        roomAwaited.delete(resolve);
        clearTimeout(timer);
        if (waiting.length < limits.maxWaitingRecords) return;
      }
      throw new AppError(
        "audit_unavailable",
        "The audit trail cannot be written at the moment, so nothing was done. Try again shortly.",
        { retryAfterSeconds: ADMIT_RETRY_SECONDS },
      );
    },
    record(entry) {
      add(entry);
    },
    async recordStored(entry, maxWaitMs) {
      const row = add(entry);
      if (waiting.includes(row)) await whenRowStored(row, maxWaitMs);
    },
    async allStored(maxWaitMs) {
      const last = waiting.at(-1);
      if (last !== undefined) await whenRowStored(last, maxWaitMs);
    },
    async [Symbol.asyncDispose]() {
      isClosing = true;
      stopGathering();
      const timer = setTimeout(() => stopped.abort(), limits.maxCloseMs);
      await writing;
      clearTimeout(timer);
      stopped.abort();
      settle(waiting.length, "logged");
    },
  };
}

function toRow(entry: AuditEntry, redact: Redact | undefined): AuditRow {
  const described = entry.parameters === undefined ? null : describeParameters(entry.parameters, redact);
  const { kind, id, name } = entry.actor;
  return {
    at: new Date(),
    actorKind: kind,
    actorId: id ?? (kind === "system" ? null : kind),
    actorName: storable(name ?? kind),
    action: storable(entry.action),
    objectKind: entry.object === undefined ? null : storable(entry.object.kind),
    objectId: entry.object?.id == null ? null : storable(entry.object.id),
    outcome: entry.outcome,
    code: entry.code === undefined ? null : storable(entry.code),
    httpStatus: entry.httpStatus ?? null,
    requestId: entry.requestId ?? null,
    processId: entry.processId ?? null,
    decision: entry.decision ?? null,
    policyId: entry.policyId ?? null,
    parametersSha256: described?.sha256 ?? null,
    parametersPreview: described?.preview ?? null,
    files: entry.files === undefined || entry.files.length === 0 ? null : describeFiles(entry.files, redact),
  };
}

/** Redacts file names, which scripts choose and which may contain secrets. */
function describeFiles(files: readonly AuditFile[], redact: Redact = (json) => json): string {
  return JSON.stringify(files.map((file) => ({ ...file, name: redact(file.name) })));
}

/** Makes a name storable: scripts may choose names, Postgres rejects NUL, and index entries have a size limit. */
function storable(text: string): string {
  return text.slice(0, 400).replaceAll("\0", "\u{fffd}").toWellFormed();
}
