/** SQL statements that read processes. Large values are read only on request; JSON stays text. */

import type { Db } from "#api/db/pool.ts";
import type { TrailCall } from "../model/calls.ts";
import type { ProcessRow, StoredInput, StoredResults, Submitted, SummaryResults } from "../model/records.ts";
import type { ListQuery } from "../model/schemas.ts";
import type { ProcessState } from "../model/states.ts";
import { processColumns, submittedColumns } from "./changes.ts";

/** All results are null if the process has none. */
type Joined<R> = { [K in keyof R]: R[K] | null };
type StoredProcess = ProcessRow & Submitted & Joined<StoredResults>;

const NO_RESULTS: StoredResults = {
  stdout: Buffer.alloc(0),
  stderr: Buffer.alloc(0),
  levels: null,
  stdoutTruncated: false,
  stderrTruncated: false,
  output: "{}",
  outputs: 0,
  result: null,
  errorDetail: null,
  artifacts: null,
  packages: null,
  warnings: null,
};

export function resultsOf(row: Joined<StoredResults>): StoredResults {
  return row.stdout === null ? NO_RESULTS : (row as StoredResults);
}

/** Returns the results of a listed row. Rows marked `overflow` have none. */
export function summaryOf(row: Joined<SummaryResults>): SummaryResults {
  return row.output === null ? NO_RESULTS : (row as SummaryResults);
}

export async function readProcess(db: Db, id: number): Promise<StoredProcess | null> {
  const [row] = await db<StoredProcess[]>`
    select ${processColumns(db)}, ${submittedColumns(db)}, r.stdout, r.stderr, r.stdout_truncated as "stdoutTruncated",
      r.stderr_truncated as "stderrTruncated", r.output::text as output, r.outputs, r.result::text as result,
      r.error_detail as "errorDetail", r.artifacts::text as artifacts,
      r.packages::text as packages, r.warnings::text as warnings, r.levels
    from processes p left join process_results r on r.process_id = p.id
    where p.id = ${id}`;
  return row ?? null;
}

export async function readProcessRow(db: Db, id: number): Promise<ProcessRow | null> {
  const [row] = await db<ProcessRow[]>`select ${processColumns(db)} from processes p where p.id = ${id}`;
  return row ?? null;
}

/** Returns the id of the submitting key, `bootstrap` or `anonymous`, or null if the process does not exist. */
export async function readSubmitter(db: Db, id: number): Promise<string | null> {
  const [row] = await db<{ submitter: string }[]>`
    select coalesce(key_id, creator) as submitter from processes where id = ${id}`;
  return row?.submitter ?? null;
}

export async function readCode(db: Db, id: number): Promise<string | null> {
  const [row] = await db<{ code: string }[]>`select code from processes where id = ${id}`;
  return row?.code ?? null;
}

export async function readInput(db: Db, id: number): Promise<StoredInput | null> {
  const [row] = await db<Submitted[]>`select ${submittedColumns(db)} from processes p where p.id = ${id}`;
  return row ?? null;
}

export async function readStream(
  db: Db,
  id: number,
  stream: "stdout" | "stderr",
): Promise<{ state: ProcessState; bytes: Buffer } | null> {
  const [row] = await db<{ state: ProcessState; bytes: Buffer | null }[]>`
    select p.state, r.${db(stream)} as bytes
    from processes p left join process_results r on r.process_id = p.id where p.id = ${id}`;
  return row ? { state: row.state, bytes: row.bytes ?? NO_RESULTS[stream] } : null;
}

export async function readOutput(
  db: Db,
  id: number,
): Promise<{ state: ProcessState; output: string } | null> {
  const [row] = await db<{ state: ProcessState; output: string }[]>`
    select p.state, coalesce(r.output::text, '{}') as output
    from processes p left join process_results r on r.process_id = p.id where p.id = ${id}`;
  return row ?? null;
}

/** In order of issue. */
export async function readCalls(db: Db, id: number): Promise<TrailCall[]> {
  return db<TrailCall[]>`
    select seq, position, service_id as "serviceId", tool_id as "toolId", started_at as "startedAt",
      duration_ms as "durationMs", waited_ms as "waitedMs", status, error, http_status as "httpStatus",
      parameters_bytes as "parametersBytes", result_bytes as "resultBytes",
      parameters::text as parameters, result::text as result, warnings
    from tool_calls where process_id = ${id} order by seq`;
}

export interface ListFilter extends Pick<ListQuery, "state" | "status" | "ref"> {
  /** Lists only processes of this submitter: a key id, `bootstrap` or `anonymous`. Null lists all. */
  submittedBy: string | null;
  limit: number;
  /** Null reads the first page. */
  before: number | null;
  /** Processes whose displayed state differs from their row: id -> state. */
  shown: ReadonlyMap<number, ProcessState>;
  /** Maximum bytes of result JSON to read. Later rows are returned with `overflow` and without results. */
  maxResultsBytes: number;
}

export type ListedRow = ProcessRow & Joined<SummaryResults> & { overflow: boolean };

/** Reads one page, newest first, plus one extra row if there is a next page. */
export async function listProcesses(db: Db, filter: ListFilter): Promise<ListedRow[]> {
  return db<ListedRow[]>`
    select page.*, r.stdout_truncated as "stdoutTruncated", r.stderr_truncated as "stderrTruncated",
      r.output::text as output, r.result::text as result, r.error_detail as "errorDetail",
      r.warnings::text as warnings
    from (
      select p.*, p."bytesUpTo" > ${filter.maxResultsBytes} as overflow from (
        select p.*, sum(p."resultsBytes") over (order by p.id desc) as "bytesUpTo"
        from (
          select ${processColumns(db)}, p.results_bytes as "resultsBytes"
          from processes p
          where true ${stateCondition(db, filter)} ${statusCondition(db, filter.status)}
            ${filter.ref === undefined ? db`` : db`and p.ref = ${filter.ref}`}
            ${filter.submittedBy === null ? db`` : db`and coalesce(p.key_id, p.creator) = ${filter.submittedBy}`}
            ${filter.before === null ? db`` : db`and p.id < ${filter.before}`}
          order by p.id desc limit ${filter.limit + 1}
        ) p
      ) p
    ) page
    left join process_results r on r.process_id = page.id and not page.overflow
    order by page.id desc`;
}

function stateCondition(db: Db, { state, shown }: ListFilter) {
  if (state === undefined) return db``;
  const stored = state === "idle" ? db`p.state = 'idle'` : db`p.state <> 'idle' and p.state = ${state}`;
  if (shown.size === 0) return db`and ${stored}`;
  const ids = [...shown.keys()];
  const matching = ids.filter((id) => shown.get(id) === state);
  return db`and ((${stored} and p.id <> all(${ids}::bigint[])) or p.id = any(${matching}::bigint[]))`;
}

function statusCondition(db: Db, status: ListQuery["status"]) {
  if (status === undefined) return db``;
  return status === "null" ? db`and p.exit_state is null` : db`and p.exit_state = ${status}`;
}
