import type { TrailCall } from "../model/calls.ts";
import type { ProcessRow, ProcessView, QueuePlace, SummaryResults } from "../model/records.ts";
import type { ListQuery } from "../model/schemas.ts";
import { HELD_STATES, type ProcessState } from "../model/states.ts";
import {
  listProcesses,
  readCalls,
  readCode,
  readOutput,
  readProcessRow,
  readStream,
  summaryOf,
} from "../store/reads.ts";
import {
  addPlace,
  findOwner,
  type ProcessesContext,
  readView,
  refuseUnknown,
  requireIdle,
  seesAll,
  type Viewer,
  waitOptions,
  waitUntilSettled,
} from "./lookup.ts";
import { viewLiveRun } from "./render.ts";

/** Maximum result JSON in one listing page; larger pages end early. A single record always fits. */
const MAX_PAGE_RESULTS_BYTES = 16 * 1024 * 1024;

export interface ListedProcess {
  row: ProcessRow;
  results: SummaryResults;
  queue?: QueuePlace | undefined;
}

export interface ProcessPage {
  processes: ListedProcess[];
  /** The next page starts below this id. Null on the last page. */
  nextBefore: number | null;
}

/** If `waitMs` is above 0, waits up to that long until the process is idle or paused. */
export async function getProcess(
  context: ProcessesContext,
  id: number,
  waitMs: number,
  signal: AbortSignal,
): Promise<ProcessView> {
  if (waitMs === 0) return (await readView(context, id)) ?? refuseUnknown(id);
  const view = await waitUntilSettled(waitOptions(context, id, signal), waitMs);
  return addPlace(context, view ?? refuseUnknown(id));
}

export async function listPage(
  { db, registry, findPlaces }: ProcessesContext,
  query: ListQuery,
  before: number | null,
  viewer: Viewer,
): Promise<ProcessPage> {
  const shown = new Map<number, ProcessState>();
  for (const live of registry.all()) if (live.state === "queued") shown.set(live.id, live.state);
  const { state, status, ref, limit } = query;
  const maxResultsBytes = MAX_PAGE_RESULTS_BYTES;
  const submittedBy = seesAll(viewer) ? null : viewer.id;
  const rows = await listProcesses(db, {
    state,
    status,
    ref,
    limit,
    before,
    shown,
    submittedBy,
    maxResultsBytes,
  });
  const places = await findPlaces(rows.filter((row) => row.state === "queued").map(({ id }) => id));
  const page: ListedProcess[] = [];
  let bytes = 0;
  for (const row of rows.slice(0, limit)) {
    const live = isHeld(row.state) ? registry.get(row.id) : undefined;
    const item = live ? viewLiveRun(live) : { row, results: summaryOf(row), queue: places.get(row.id) };
    bytes += item.results.output.length + (item.results.result?.length ?? 0);
    if (page.length > 0 && (row.overflow || bytes > MAX_PAGE_RESULTS_BYTES)) break;
    page.push(item);
  }
  const last = page.at(-1)?.row.id ?? null;
  return { processes: page, nextBefore: rows.length > page.length ? last : null };
}

function isHeld(state: ProcessState): boolean {
  return (HELD_STATES as readonly ProcessState[]).includes(state);
}

export async function getCode({ db, registry }: ProcessesContext, id: number): Promise<string> {
  return registry.get(id)?.submitted.code ?? (await readCode(db, id)) ?? refuseUnknown(id);
}

/** Returns JSON text. Throws process_not_idle. */
export async function getOutput({ db }: ProcessesContext, id: number): Promise<string> {
  const row = (await readOutput(db, id)) ?? refuseUnknown(id);
  requireIdle(id, row.state);
  return row.output;
}

/** Throws process_not_idle. */
export async function getStream(
  { db }: ProcessesContext,
  id: number,
  stream: "stdout" | "stderr",
): Promise<Buffer> {
  const row = (await readStream(db, id, stream)) ?? refuseUnknown(id);
  requireIdle(id, row.state);
  return row.bytes;
}

export async function getCalls(context: ProcessesContext, id: number): Promise<readonly TrailCall[]> {
  const { db, registry, peers } = context;
  const live = registry.get(id);
  if (live) return live.calls.all;
  const calls = await readCalls(db, id);
  if (calls.length > 0) return calls;
  const row = (await readProcessRow(db, id)) ?? refuseUnknown(id);
  const owner = findOwner(context, row);
  return owner === null ? calls : ((await peers.remote.readCalls(owner, id).catch(() => null)) ?? calls);
}
