/** What another server asks about a run that this one holds: nothing is answered about any other process. */
import { followProcess, parseEventId, sourceOfLiveRun } from "../events.ts";
import { waitUntilIdle, waitUntilSettled } from "../live/waits.ts";
import { type ProcessesContext, waitOptions } from "../lookup.ts";
import { type ProcessView, viewLiveRun } from "../render.ts";
import type { WaitUntil } from "./peers.ts";

export interface HeldWait {
  until: WaitUntil;
  /** 0: as it is. */
  maxMs: number;
}

/** Null: it is not held here. */
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

/** Null: it is not held here. Ends when the run has ended, or is held here no longer. */
export function followHeld(
  { registry, feed }: ProcessesContext,
  id: number,
  lastEventId: string | null,
  signal: AbortSignal,
): AsyncGenerator<string, void> | null {
  const live = registry.get(id);
  if (live === undefined) return null;
  const from = lastEventId === null ? null : parseEventId(lastEventId);
  // Whoever asks reads what is stored when the run is not here any more.
  const read = async () =>
    live.isLeft || (live.state === "idle" && !live.isStored)
      ? null
      : sourceOfLiveRun(live, viewLiveRun(live));
  return followProcess({ id, feed, from, read, signals: [signal, feed.closed] });
}
