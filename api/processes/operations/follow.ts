/**
 * The event stream of a process, wherever its run is: on this server, stored, or on another server whose stream is
 * relayed. Event ids are the same everywhere, so any server can continue a stream.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "#api/errors.ts";
import type { LiveRun } from "../live/run.ts";
import type { WaitUntil } from "../model/peers.ts";
import type { ProcessView } from "../model/records.ts";
import { readCalls, readProcess } from "../store/reads.ts";
import {
  type EventPosition,
  type EventSource,
  EXPECTED_EVENT_ID,
  followProcess,
  formatEventId,
  PING,
  parseEventId,
  runOfSource,
  sourceOfLiveRun,
  sourceOfStored,
} from "./events.ts";
import {
  findOwner,
  type ProcessesContext,
  refuseUnknown,
  waitOptions,
  waitUntilIdle,
  waitUntilSettled,
} from "./lookup.ts";
import { viewLiveRun, viewStored } from "./render.ts";

const ID_LINE = /^id: (\S+)$/m;
const END_LINE = /^event: end$/m;
/** Delay before retrying when the server that holds the run does not respond. */
const RETRY_MS = 1000;

/**
 * Opens a stream of server-sent events as text. Returns null if the client already has everything of a finished
 * process.
 */
export async function openEvents(
  context: ProcessesContext,
  id: number,
  lastEventId: string | null,
  signal: AbortSignal,
): Promise<AsyncGenerator<string, void> | null> {
  const from = lastEventId === null ? null : parseEventId(lastEventId);
  if (lastEventId !== null && !from) {
    const message = `Last-Event-ID is not valid: expected ${EXPECTED_EVENT_ID}.`;
    throw new AppError("invalid_request", message, { issues: [{ path: "headers.last-event-id", message }] });
  }
  const look = createLook(context, id);
  const first = await look();
  const source = first.source ?? refuseUnknown(id);
  const isComplete =
    source.view.row.state === "idle" && from?.state === "ended" && from.run === runOfSource(source);
  return isComplete ? null : followAnywhere(context, id, from, { first, look }, signal);
}

interface Look {
  source: EventSource | null;
  owner: string | null;
}

function createLook(context: ProcessesContext, id: number): () => Promise<Look> {
  const { db, registry, readApprovals } = context;
  // Each stream shows one run to its end, even if the next run starts before a slow client has read everything.
  let live: LiveRun | undefined;
  return async () => {
    if (live === undefined || live.phase === "detached") live = registry.get(id);
    if (live) return { source: sourceOfLiveRun(live, viewLiveRun(live)), owner: null };
    const stored = await readProcess(db, id);
    if (stored === null) return { source: null, owner: null };
    const approvals = stored.asked ? await readApprovals(id) : [];
    const source = sourceOfStored(viewStored(stored), await readCalls(db, id), approvals);
    return { source, owner: findOwner(context, stored) };
  };
}

async function* followAnywhere(
  context: ProcessesContext,
  id: number,
  from: EventPosition | null,
  { first, look }: { first: Look; look: () => Promise<Look> },
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  const { feed, peers } = context;
  const signals = [signal, feed.closed];
  let last: string | null = null;
  let start = from;
  let { owner, source } = first;
  for (;;) {
    const isHere = owner === null;
    const here = followProcess({
      id,
      feed,
      from: start,
      async read() {
        ({ owner, source } = await look());
        return owner === null ? source : null;
      },
      signals,
    });
    const position: string | null = last ?? (start === null ? null : formatEventId(start));
    const part: AsyncGenerator<string, void> =
      owner === null ? here : peers.remote.follow(owner, id, position, AbortSignal.any(signals));
    try {
      for await (const event of part) {
        last = ID_LINE.exec(event)?.[1] ?? last;
        yield event;
        if (END_LINE.test(event)) return;
      }
    } catch {
      // The other server is down or has released the run; the database says which.
    }
    if (signals.some(({ aborted }) => aborted) || source === null) return;
    if (last !== null) start = parseEventId(last);
    // The run moved to another server or was deleted.
    if (isHere && owner !== null) continue;
    const asked = owner;
    ({ owner, source } = await look());
    if (source === null) return;
    if (owner !== asked) continue;
    yield PING;
    await sleep(RETRY_MS, undefined, { signal: AbortSignal.any(signals) }).catch(() => {});
  }
}

export interface HeldWait {
  until: WaitUntil;
  /** Maximum wait; 0 returns the current state. */
  maxMs: number;
}

export async function viewHeld(
  context: ProcessesContext,
  id: number,
  { until, maxMs }: HeldWait,
  signal: AbortSignal,
): Promise<ProcessView | null> {
  const live = context.registry.get(id);
  if (live === undefined) return null;
  if (maxMs === 0) return viewLiveRun(live);
  const timed = AbortSignal.any([signal, AbortSignal.timeout(maxMs)]);
  const waits = { ...waitOptions(context, id, timed), elsewhere: async () => null };
  const view = until === "idle" ? await waitUntilIdle(waits) : await waitUntilSettled(waits, maxMs);
  if (view !== "aborted") return view;
  const now = context.registry.get(id);
  return now === undefined ? null : viewLiveRun(now);
}

/** Returns null if this server does not hold the run. Ends when the run ends or this server releases it. */
export function followHeld(
  { registry, feed }: ProcessesContext,
  id: number,
  lastEventId: string | null,
  signal: AbortSignal,
): AsyncGenerator<string, void> | null {
  const live = registry.get(id);
  if (live === undefined) return null;
  const from = lastEventId === null ? null : parseEventId(lastEventId);
  // A detached run returns null: the requesting server reads the stored state itself.
  const read = async () => (live.phase === "detached" ? null : sourceOfLiveRun(live, viewLiveRun(live)));
  return followProcess({ id, feed, from, read, signals: [signal, feed.closed] });
}
