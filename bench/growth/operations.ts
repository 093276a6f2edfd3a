/** What is measured: the statements behind requests, queue and sweeps, as the features' own functions make them. */
import { randomUUID } from "node:crypto";
import { removeOldAuditRows } from "#api/audit/store.ts";
import type { Pool } from "#api/db/pool.ts";
import type { NewProcess, ProcessRow } from "#api/processes/model/records.ts";
import type { ProcessState } from "#api/processes/model/states.ts";
import { finishRun, insertProcess } from "#api/processes/store/changes.ts";
import {
  claimQueued,
  countQueued,
  endAbandonedRuns,
  findPositions,
  returnClaims,
} from "#api/processes/store/queue.ts";
import { type ListFilter, listProcesses, readCalls, readProcess } from "#api/processes/store/reads.ts";
import {
  countFinishedBetween,
  deleteFinishedBefore,
  deleteFinishedUpTo,
  deleteOldIdempotencyKeys,
  type FinishedPosition,
  findNewestFinished,
  stepBack,
} from "#api/processes/store/retention.ts";
import { OPEN_GATE } from "#api/tools/gate.ts";
import { createToolListing } from "#api/tools/listing.ts";
import { createToolSearch } from "#api/tools/search.ts";
import { QUERIES } from "../tools/tools-data.ts";
import { auditOperations } from "./audit-operations.ts";
import { DAY_MS, type Operation, PAGE } from "./operation.ts";

const KEYS = 20;
const SWEEP_BATCH = 5;
/** Of the walk back to the oldest that stays; not more than the smallest size has. */
const STEP = 500;

/** Over one database of `size` processes. */
export function createOperations(pool: Pool, size: number): Operation[] {
  return [
    ...queueOperations(pool),
    ...readOperations(pool, size),
    ...listOperations(pool, size),
    ...toolOperations(pool),
    ...auditOperations(pool, size),
    ...sweepOperations(pool, size),
  ];
}

let submitted = 0;

function newProcess(): NewProcess {
  submitted += 1;
  const keyId = `key_${(1 + (submitted % KEYS)).toString(16).padStart(20, "0")}`;
  const code = `return ${submitted} // ${"what a client sends ".repeat(8)}`;
  return { code, timeoutMs: 30_000, memoryMb: null, cpuMs: null, creator: { kind: "key", keyId } };
}

function finish(pool: Pool, { id, claim }: { id: number; claim: string | null }) {
  return finishRun(pool, {
    id,
    claim: claim as string,
    exitState: "success",
    reason: "ok",
    error: null,
    memoryMb: 128,
    usage: { queuedMs: 1, startMs: 12, wallMs: 250, cpuMs: 40, peakMemoryBytes: 41_943_040, toolCalls: 0 },
    stdout: Buffer.from("a line that a script has printed\n"),
    stderr: Buffer.alloc(0),
    levels: null,
    truncated: { stdout: false, stderr: false },
    output: "{}",
    outputs: 0,
    result: '{"order":1}',
    calls: [],
    artifacts: [],
    packages: [],
    warnings: [],
  });
}

/** Together they leave the queue as long as it was. */
function queueOperations(pool: Pool): Operation[] {
  const request = { environment: "typescript-process", replica: null, maxPerCaller: null };
  const place = () => ({ environment: "typescript-process", claim: randomUUID(), replica: null });
  const begin = async () => {
    const outcome = await insertProcess(pool, newProcess(), place(), null);
    return outcome.kind === "stored" ? outcome.row : null;
  };
  const finishAll = async (rows: ProcessRow[]) => {
    if (rows.length === 0) throw new Error("nothing was claimed: the queue is empty");
    for (const row of rows) await finish(pool, row);
  };
  return [
    {
      name: "enqueue",
      isBound: true,
      run: () => insertProcess(pool, newProcess(), "queued", null),
    },
    {
      name: "enqueue with ref and Idempotency-Key",
      isBound: true,
      run: () =>
        insertProcess(pool, { ...newProcess(), ref: randomUUID() }, "queued", {
          caller: "key",
          key: randomUUID(),
          bodyHash: Buffer.alloc(32),
          keyTtlMs: DAY_MS,
        }),
    },
    { name: "store as running", isBound: true, run: begin, after: (row: ProcessRow) => finish(pool, row) },
    {
      name: "claim one",
      isBound: true,
      run: () => claimQueued(pool, { ...request, maxRows: 1 }),
      after: finishAll,
    },
    {
      name: "claim one, with a limit per caller",
      isBound: true,
      run: () => claimQueued(pool, { ...request, maxRows: 1, maxPerCaller: 1000 }),
      after: finishAll,
    },
    {
      name: "claim 32",
      isBound: true,
      run: () => claimQueued(pool, { ...request, maxRows: 32 }),
      after: (rows: ProcessRow[]) =>
        returnClaims(
          pool,
          rows.map(({ id, claim }) => ({ id, claim: claim as string })),
        ),
    },
    { name: "finish", before: begin, run: (row) => finish(pool, row as ProcessRow) },
    { name: "count the queue", run: () => countQueued(pool) },
    {
      name: "place in the queue",
      before: () => pool<{ id: number }[]>`select id from processes where state = 'queued' limit ${PAGE}`,
      run: (rows) =>
        findPositions(
          pool,
          (rows as { id: number }[]).map(({ id }) => id),
        ),
    },
  ];
}

function readOperations(pool: Pool, size: number): Operation[] {
  const any = () => 1 + Math.floor(Math.random() * size);
  return [
    { name: "get, a recent one", run: () => readProcess(pool, size - Math.floor(Math.random() * 500)) },
    { name: "get, any", run: () => readProcess(pool, any()) },
    { name: "calls of a process", run: () => readCalls(pool, any()) },
  ];
}

function listOperations(pool: Pool, size: number): Operation[] {
  const list = (name: string, filter: Partial<ListFilter>): Operation => ({
    name: `list ${name}`,
    run: () =>
      listProcesses(pool, {
        state: undefined,
        submittedBy: null,
        status: undefined,
        ref: undefined,
        limit: PAGE,
        before: null,
        shown: new Map(),
        maxResultsBytes: 16 * 1024 * 1024,
        ...filter,
      }),
  });
  const shown = new Map<number, ProcessState>([
    [size - 1, "queued"],
    [size - 2, "queued"],
  ]);
  const middle = Math.floor(size / 2);
  return [
    list("all", {}),
    list("all, deep", { before: middle }),
    list("state=idle", { state: "idle" }),
    list("state=queued", { state: "queued" }),
    list("state=queued, some shown as queued", { state: "queued", shown }),
    list("state=running", { state: "running" }),
    list("state=running, some shown as queued", { state: "running", shown }),
    list("state=running, deep", { state: "running", before: middle }),
    list("state=paused", { state: "paused" }),
    list("state=terminating", { state: "terminating" }),
    list("state=idle, some shown as queued", { state: "idle", shown }),
    list("status=success", { status: "success" }),
    list("status=failed, deep", { status: "failed", before: middle }),
    list("status=canceled", { status: "canceled" }),
    list("status=timeout, all long ago", { status: "timeout" }),
    list("status=null", { status: "null" }),
    list("status=null, deep", { status: "null", before: middle }),
    list("state=idle status=null", { state: "idle", status: "null" }),
    list("state=idle status=failed, deep", { state: "idle", status: "failed", before: middle }),
    list("state=running status=success", { state: "running", status: "success" }),
    list("ref", { ref: "job-300" }),
    list("ref nobody has", { ref: "nobody" }),
    list("ref, state=idle, deep", { ref: "job-300", state: "idle", before: middle }),
  ];
}

function toolOperations(pool: Pool): Operation[] {
  const listing = createToolListing(pool, createToolSearch(pool), OPEN_GATE, () => null);
  let asked = 0;
  return [
    {
      name: "search tools",
      run: () => {
        asked += 1;
        const query = QUERIES[asked % QUERIES.length] as string;
        return listing.search(query, { effective: true }, { from: null, limit: PAGE }, {});
      },
    },
    { name: "list tools", run: () => listing.list({}, { from: null, limit: PAGE }, {}) },
  ];
}

function sweepOperations(pool: Pool, size: number): Operation[] {
  const judging = { replica: null, unheld: [], maxSilentMs: 20_000 };
  const error = { name: "Error", message: "lost", stack: null, line: null, column: null };
  return [
    { name: "sweep for lost runs, none", run: () => endAbandonedRuns(pool, error, judging) },
    { name: "retention by age, nothing due", run: () => deleteFinishedBefore(pool, 365, SWEEP_BATCH) },
    {
      name: `retention by age, ${SWEEP_BATCH} due`,
      isSeldom: true,
      run: () => deleteFinishedBefore(pool, 15, SWEEP_BATCH),
    },
    {
      name: "retention by number, looking for what is new",
      before: () => findNewestFinished(pool),
      run: async (newest) => {
        const upTo = await findNewestFinished(pool);
        return countFinishedBetween(pool, newest as FinishedPosition, upTo as FinishedPosition, size);
      },
    },
    {
      name: `retention by number, a step of ${STEP} back`,
      isSeldom: true,
      before: () => findNewestFinished(pool),
      run: (newest) => stepBack(pool, newest as FinishedPosition, STEP),
    },
    {
      name: `retention by number, ${SWEEP_BATCH} due`,
      isSeldom: true,
      before: () => findNewestFinished(pool),
      run: (newest) => deleteFinishedUpTo(pool, newest as FinishedPosition, SWEEP_BATCH),
    },
    {
      name: "retention of idempotency keys, nothing due",
      run: () => deleteOldIdempotencyKeys(pool, 365 * DAY_MS, SWEEP_BATCH),
    },
    {
      name: `retention of the audit log, ${SWEEP_BATCH} due`,
      isSeldom: true,
      run: () => removeOldAuditRows(pool, 15, SWEEP_BATCH),
    },
  ];
}
