/** Reading processes: whole, in parts, as a list, as a stream of events. Live and stored ones look the same. */
import { AppError } from "#api/errors.ts";
import {
  type EventSource,
  EXPECTED_EVENT_ID,
  followProcess,
  parseEventId,
  runOfSource,
  sourceOfLiveRun,
  sourceOfStored,
} from "./events.ts";
import type { LiveRun } from "./live/run.ts";
import type { TrailCall } from "./live/trail.ts";
import { waitUntilSettled } from "./live/waits.ts";
import { type ProcessesContext, readView, refuseUnknown, requireIdle, waitOptions } from "./lookup.ts";
import type { ListQuery } from "./model.ts";
import { type ProcessView, viewLiveRun, viewStored } from "./render.ts";
import { HELD_STATES, type ProcessState } from "./states.ts";
import type { ProcessRow } from "./store.ts";
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

/** JSON of results in one page of a listing: a page ends early rather than be larger. More than one record can have. */
const MAX_PAGE_RESULTS_BYTES = 16 * 1024 * 1024;

export interface ListedProcess {
  row: ProcessRow;
  results: SummaryResults;
}

export interface ProcessPage {
  processes: ListedProcess[];
  /** Where the next page begins: ids below. Null on the last page. */
  nextBefore: number | null;
}

/** `waitMs` above 0 waits until the process is idle or paused, for that long at most. */
export async function getProcess(
  context: ProcessesContext,
  id: number,
  waitMs: number,
  signal: AbortSignal,
): Promise<ProcessView> {
  const view = await (waitMs === 0
    ? readView(context, id)
    : waitUntilSettled(waitOptions(context, id, signal), waitMs));
  return view ?? refuseUnknown(id);
}

export async function listPage(
  { db, registry }: ProcessesContext,
  query: ListQuery,
  before: number | null,
): Promise<ProcessPage> {
  const shown = new Map<number, ProcessState>();
  for (const { live } of registry.all()) if (live.state === "queued") shown.set(live.id, live.state);
  const { state, status, ref, limit } = query;
  const maxResultsBytes = MAX_PAGE_RESULTS_BYTES;
  const rows = await listProcesses(db, { state, status, ref, limit, before, shown, maxResultsBytes });
  const page: ListedProcess[] = [];
  let bytes = 0;
  for (const row of rows.slice(0, limit)) {
    const live = isHeld(row.state) ? registry.get(row.id) : undefined;
    const item = live ? viewLiveRun(live) : { row, results: summaryOf(row) };
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
  return registry.get(id)?.code ?? (await readCode(db, id)) ?? refuseUnknown(id);
}

/** JSON text. Throws process_not_idle. */
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

export async function getCalls(
  { db, registry }: ProcessesContext,
  id: number,
): Promise<readonly TrailCall[]> {
  const live = registry.get(id);
  if (live) return live.trail.calls;
  const calls = await readCalls(db, id);
  if (calls.length === 0 && !(await readProcessRow(db, id))) refuseUnknown(id);
  return calls;
}

/** Server-sent events as text; null when the client has the whole of a finished process already. */
export async function openEvents(
  { db, registry, feed, readApprovals }: ProcessesContext,
  id: number,
  lastEventId: string | null,
  signal: AbortSignal,
): Promise<AsyncGenerator<string, void> | null> {
  const from = lastEventId === null ? null : parseEventId(lastEventId);
  if (lastEventId !== null && !from) {
    const message = `Last-Event-ID is not valid: expected ${EXPECTED_EVENT_ID}.`;
    throw new AppError("invalid_request", message, { issues: [{ path: "headers.last-event-id", message }] });
  }
  // One stream shows one run to its end, also when the next run has begun before a slow client has read it all.
  let live: LiveRun | undefined;
  const read = async (): Promise<EventSource | null> => {
    if (live === undefined || live.isLeft) live = registry.get(id);
    if (live && (live.isStored || live.state !== "idle")) return sourceOfLiveRun(live, viewLiveRun(live));
    const stored = await readProcess(db, id);
    if (stored === null) return null;
    const approvals = stored.asked ? await readApprovals(id) : [];
    return sourceOfStored(viewStored(stored), await readCalls(db, id), approvals);
  };
  const first = (await read()) ?? refuseUnknown(id);
  const { row } = first.view;
  const isComplete = row.state === "idle" && from?.state === "ended" && from.run === runOfSource(first);
  return isComplete ? null : followProcess({ id, feed, from, read, signals: [signal, feed.closed] });
}
