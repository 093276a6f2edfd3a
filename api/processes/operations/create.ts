import { createHash } from "node:crypto";
import { isStorageFull } from "#api/db/stored-bytes.ts";
import { AppError } from "#api/errors.ts";
import type { EnvironmentStatus } from "#sdk";
import { memoryInForce } from "../live/execution.ts";
import { digestBody } from "../model/digest.ts";
import type {
  IdempotencyKey,
  NewProcess,
  Placement,
  ProcessCreator,
  ProcessView,
  StoredInput,
  Submitted,
} from "../model/records.ts";
import type { CreateProcessBody } from "../model/schemas.ts";
import { findIdempotencyKey, type InsertOutcome, insertProcess } from "../store/changes.ts";
import { checkInput, refuseInput } from "./input.ts";
import { type LimitMaxima, type ProcessesContext, waitForEnd } from "./lookup.ts";

export const IDEMPOTENCY_TTL_MS = 24 * 60 * 60_000;
/** Maximum value of both a timer and a Postgres integer: 24.8 days. */
const MAX_INTEGER_MS = 2_147_483_647;
const MAX_KEY_ATTEMPTS = 5;
const REFUSALS = new Set(["too_many_processes", "no_environment", "shutting_down"]);

export interface Submission {
  body: CreateProcessBody;
  creator: ProcessCreator;
  /** True if uploads of every key may be given. By default only the creator's own. */
  seesAll?: boolean;
  /** Idempotency key, scoped to this creator. `sent` is the body as the client wrote it. */
  idempotency: { key: string; sent: unknown } | null;
  signal: AbortSignal;
}

interface CheckedSubmission extends Submission {
  submitted: Submitted;
}

/**
 * Creates a process. With `block`, returns the view of the ended run. Throws invalid_request, no_environment,
 * too_many_processes, shutting_down, ref_taken or idempotency_mismatch.
 */
export async function createProcess(
  context: ProcessesContext,
  asked: Submission,
): Promise<{ id: number; view: ProcessView | null }> {
  const { body, signal } = asked;
  const key = identify(asked);
  const input = await readInput(context, asked);
  const files = await takeFiles(context, asked);
  const submission = { ...asked, submitted: { code: body.code, name: body.name ?? null, files, ...input } };
  for (let attempt = 0; attempt < MAX_KEY_ATTEMPTS; attempt += 1) {
    const outcome = await insertOrFind(context, submission, key);
    const id = await resolve(context, outcome, submission, key);
    if (id === null) continue;
    const isQueued = outcome.kind === "stored" && outcome.row.state === "queued";
    const view = body.autorun && body.block ? await waitForEnd(context, id, signal, isQueued) : null;
    return { id, view };
  }
  throw new Error("the process of an idempotency key was deleted each time it had been created");
}

/** A server that accepts no new processes still recognizes earlier ones, so a retried request is not rejected. */
async function insertOrFind(
  context: ProcessesContext,
  submission: CheckedSubmission,
  key: IdempotencyKey | null,
): Promise<InsertOutcome> {
  try {
    return await insert(context, submission, key);
  } catch (error) {
    const isRefused = error instanceof AppError && REFUSALS.has(error.code);
    if (!isRefused || key === null || (await findKey(context, key)) === null) throw error;
    return { kind: "key_known" };
  }
}

async function insert(
  context: ProcessesContext,
  submission: CheckedSubmission,
  key: IdempotencyKey | null,
): Promise<InsertOutcome> {
  const { body, submitted } = submission;
  const idempotency = key && { ...key, keyTtlMs: IDEMPOTENCY_TTL_MS };
  const store = (run: Placement | "queued" | null) =>
    insertProcess(context.db, describe(context, submission), run, idempotency).catch((error) => {
      if (isStorageFull(error)) context.files.onFull?.();
      throw error;
    });
  if (!body.autorun) return announceStored(context, await store(null));
  const { inserted } = await context.submit(callerOf(submission.creator), async (placement) => {
    const outcome = await store(placement ?? "queued");
    return {
      inserted: outcome,
      stored: outcome.kind === "stored" ? { row: outcome.row, submitted } : null,
    };
  });
  return announceStored(context, inserted);
}

/**
 * Clamps the requested limits to the maxima of the server and of the environment. `status` is that of the environment
 * the process starts in at once, or null if it is not known yet.
 */
function clampLimits(
  asked: CreateProcessBody["options"],
  maxima: LimitMaxima,
  status: EnvironmentStatus | null,
): Pick<NewProcess, "timeoutMs" | "memoryMb" | "cpuMs"> {
  return {
    timeoutMs: clampMs(asked.timeout, maxima.maxTimeoutMs),
    memoryMb: memoryInForce(asked.memoryMb ?? null, status),
    cpuMs: clampMs(asked.cpuMs ?? null, maxima.maxCpuMs),
  };
}

function clampMs(asked: number | null, max: number | null): number | null {
  return asked === null ? max : Math.min(asked, max ?? MAX_INTEGER_MS, MAX_INTEGER_MS);
}

function announceStored({ feed }: ProcessesContext, outcome: InsertOutcome): InsertOutcome {
  if (outcome.kind === "stored") feed.notify(outcome.row.id, "state");
  return outcome;
}

const NO_INPUT: StoredInput = { input: null, inputSchema: null };

async function readInput({ checks }: ProcessesContext, { body, creator }: Submission): Promise<StoredInput> {
  const { input, inputSchema = null, autorun } = body;
  if (input === undefined && inputSchema === null) return NO_INPUT;
  if (input === undefined && autorun) {
    throw refuseInput("input", "is missing: a run of a process with an inputSchema needs one.");
  }
  return checkInput(checks, callerOf(creator), input, inputSchema);
}

async function takeFiles({ files }: ProcessesContext, asked: Submission): Promise<string | null> {
  const { body, creator, seesAll = false } = asked;
  if (body.files === undefined || Object.keys(body.files).length === 0) return null;
  return JSON.stringify(await files.take(body.files, { owner: callerOf(creator), all: seesAll }));
}

function describe(context: ProcessesContext, { body, creator, submitted }: CheckedSubmission): NewProcess {
  const status = context.environments.active()?.status() ?? null;
  const { autorun, block: _, options, ...rest } = body;
  const traceParent = autorun ? context.traceParent() : null;
  // `submitted` contains the fields that are stored in another form than they were sent.
  const { maxStoredBytes } = context.files;
  const limits = clampLimits(options, context.maxima, status);
  return { ...rest, ...submitted, creator, traceParent, maxStoredBytes, ...limits };
}

/**
 * Returns the process id of the response, or null if the process and its idempotency key were deleted a moment ago.
 */
async function resolve(
  context: ProcessesContext,
  outcome: InsertOutcome,
  { body }: Submission,
  key: IdempotencyKey | null,
): Promise<number | null> {
  switch (outcome.kind) {
    case "stored":
      return outcome.row.id;
    case "ref_taken":
      throw new AppError(
        "ref_taken",
        `Another process has the ref "${body.ref}". Choose one that is not in use.`,
      );
    case "key_known": {
      const first = key && (await findKey(context, key));
      if (!key || !first) return null;
      if (first.bodyHash.equals(key.bodyHash) || first.bodyHash.equals(digestParsed(body)))
        return first.processId;
      throw new AppError(
        "idempotency_mismatch",
        "This Idempotency-Key was used for another body in the last 24 hours. Send the same body, or a new key.",
      );
    }
  }
}

function findKey({ db }: ProcessesContext, { caller, key }: IdempotencyKey) {
  return findIdempotencyKey(db, caller, key, IDEMPOTENCY_TTL_MS);
}

function callerOf({ keyId, kind }: ProcessCreator): string {
  return keyId ?? kind;
}

/** Digests the body as sent: once parsed, it has fields that other versions do not know. */
function identify({ creator, idempotency }: Submission): IdempotencyKey | null {
  const caller = callerOf(creator);
  return idempotency && { caller, key: idempotency.key, bodyHash: digestBody(idempotency.sent) };
}

/**
 * Digest that version 0.1 stored: fields in this order, with defaults filled in. Needed until 24 hours after an
 * upgrade.
 */
function digestParsed({ options, ...body }: CreateProcessBody): Buffer {
  const { code, ref, autorun, block, priority, ...later } = body;
  const { timeout, memoryMb, cpuMs } = options;
  const parsed = { code, ref, autorun, block, priority, options: { timeout, memoryMb, cpuMs }, ...later };
  return createHash("sha256").update(JSON.stringify(parsed)).digest();
}
