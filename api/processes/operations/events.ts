/**
 * The event stream of one process, from a position onward. Nothing is queued per client: each reads the run or the
 * stored row at its own pace, so a slow client costs no memory. An event id is the position after the event. It is
 * the same for live and stored runs, and stays valid after a restart.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { ChangeWaiter, type ProcessFeed } from "../live/registry.ts";
import type { LiveRun } from "../live/run.ts";
import { sliceLevel } from "../live/streams.ts";
import type { ApprovalEvent, TrailCall } from "../model/calls.ts";
import type { ProcessEventName } from "../model/event-schemas.ts";
import type { Peers } from "../model/peers.ts";
import type { ProcessView } from "../model/records.ts";
import type { ProcessState } from "../model/states.ts";
import { renderCall } from "./render.ts";

const PING_INTERVAL_MS = 15_000;
export const PING = ": ping\n\n";
const MAX_EVENT_TEXT_BYTES = 64 * 1024;

/** How much of a run a client has received. `state` is the last state sent; `ended` is true once the end was sent. */
export interface EventPosition {
  /** Start of the run's token. A new run starts from an empty position. */
  run: string;
  state: ProcessState | "none" | "ended";
  stdout: number;
  stderr: number;
  outputs: number;
  calls: number;
  /** Omitted from the id while it is 0: few runs ask an approver. */
  approvals: number;
  /** Omitted from the id while it is 0: few runs produce files. */
  artifacts: number;
}

const STATE_LETTERS = {
  none: "n",
  queued: "q",
  running: "r",
  paused: "p",
  terminating: "t",
  idle: "i",
  ended: "e",
} as const satisfies Record<EventPosition["state"], string>;
const STATES_BY_LETTER = new Map(
  Object.entries(STATE_LETTERS).map(([state, letter]) => [letter as string, state as EventPosition["state"]]),
);
const ID_PATTERN =
  /^([0-9a-f]{8})\.([nqrptie])\.(\d{1,10})\.(\d{1,10})\.(\d{1,10})\.(\d{1,10})(?:\.([1-9]\d{0,9}))?(?:-([1-9]\d{0,3}))?$/;
const RUN_CHARACTERS = 8;
const NOTHING = {
  state: "none",
  stdout: 0,
  stderr: 0,
  outputs: 0,
  calls: 0,
  approvals: 0,
  artifacts: 0,
} as const;
const NO_RUN = "0".repeat(RUN_CHARACTERS);

export const EXPECTED_EVENT_ID =
  'the id of an event of this stream, like "3f2a91bc.r.120.0.1.3" (run, state, bytes of stdout and stderr, outputs, calls, approvals)';

export function formatEventId(position: EventPosition): string {
  const { run, state, stdout, stderr, outputs, calls, approvals, artifacts } = position;
  const last = `${approvals === 0 ? "" : `.${approvals}`}${artifacts === 0 ? "" : `-${artifacts}`}`;
  return `${run}.${STATE_LETTERS[state]}.${stdout}.${stderr}.${outputs}.${calls}${last}`;
}

/** Returns null if the id was not created by this server's event streams. */
export function parseEventId(id: string): EventPosition | null {
  const match = ID_PATTERN.exec(id);
  const state = STATES_BY_LETTER.get(match?.[2] ?? "");
  if (!match || !state) return null;
  const [stdout, stderr, outputs, calls] = match.slice(3, 7).map(Number) as [number, number, number, number];
  const rare = { approvals: Number(match[7] ?? 0), artifacts: Number(match[8] ?? 0) };
  return { run: match[1] as string, state, stdout, stderr, outputs, calls, ...rare };
}

export interface EventSource {
  view: ProcessView;
  endedCalls: readonly TrailCall[];
  approvals: readonly ApprovalEvent[];
  /** Returns the members set after this many emissions, as JSON text. */
  outputSince(outputs: number): string;
}

export function sourceOfLiveRun(live: LiveRun, view: ProcessView): EventSource {
  return {
    view,
    endedCalls: live.calls.ended,
    approvals: live.approvals.events,
    outputSince: (outputs) => live.results.outputSince(outputs),
  };
}

export function sourceOfStored(
  view: ProcessView,
  calls: readonly TrailCall[],
  approvals: readonly ApprovalEvent[],
): EventSource {
  const endedCalls = calls
    .filter(({ position }) => position !== null)
    .sort((a, b) => (a.position ?? 0) - (b.position ?? 0));
  return { view, endedCalls, approvals, outputSince: () => view.results.output };
}

export function runOfSource({ view }: EventSource): string {
  return view.row.claim?.replaceAll("-", "").slice(0, RUN_CHARACTERS) ?? NO_RUN;
}

export interface FollowOptions {
  id: number;
  feed: ProcessFeed;
  /** Null starts at the beginning of the current run. */
  from: EventPosition | null;
  read: () => Promise<EventSource | null>;
  signals: readonly AbortSignal[];
}

/** Yields server-sent events as text until the run has ended, the process is deleted or a signal aborts. */
export async function* followProcess(options: FollowOptions): AsyncGenerator<string, void> {
  const { id, feed, read, signals } = options;
  using waiter = new ChangeWaiter(feed, id);
  let position = options.from;
  // Sends the headers. Otherwise an up-to-date client would wait for them until the first ping.
  yield PING;
  for (;;) {
    if (signals.some((signal) => signal.aborted)) return;
    const source = await read();
    if (!source) return;
    const run = runOfSource(source);
    if (position?.run !== run) position = { run, ...NOTHING };
    yield* eventsSince(source, position);
    if (position.state === "ended") return;
    while ((await waiter.next(PING_INTERVAL_MS, signals)) === "time") yield PING;
  }
}

/** Yields all events after the position and advances the position. */
function* eventsSince(source: EventSource, position: EventPosition): Generator<string> {
  const { row, results } = source.view;
  if (row.state !== "idle" && position.state !== row.state) {
    position.state = row.state;
    yield formatEvent("state", position, ending(source));
  }
  for (const stream of ["stdout", "stderr"] as const) {
    const bytes = results[stream];
    const ranges = results.levels?.[stream] ?? [];
    for (;;) {
      const slice = sliceLevel(bytes, ranges, position[stream], MAX_EVENT_TEXT_BYTES);
      if (!slice) break;
      position[stream] = slice.end;
      yield formatEvent(stream, position, JSON.stringify({ text: slice.text, level: slice.level }));
    }
  }
  if (position.outputs < results.outputs) {
    const data = source.outputSince(position.outputs);
    position.outputs = results.outputs;
    yield formatEvent("output", position, data);
  }
  while (position.calls < source.endedCalls.length) {
    const call = source.endedCalls[position.calls] as TrailCall;
    position.calls += 1;
    yield formatEvent("call", position, renderCall(call));
  }
  while (position.approvals < source.approvals.length) {
    const { id, state } = source.approvals[position.approvals] as ApprovalEvent;
    position.approvals += 1;
    yield formatEvent("approval", position, JSON.stringify({ id, state }));
  }
  if (row.state !== "idle") return;
  if (position.state !== "idle" && position.state !== "ended") {
    position.state = "idle";
    yield formatEvent("state", position, ending(source));
  }
  const artifacts: unknown[] = results.artifacts ? JSON.parse(results.artifacts) : [];
  while (position.artifacts < artifacts.length) {
    const artifact = artifacts[position.artifacts];
    position.artifacts += 1;
    yield formatEvent("artifact", position, JSON.stringify(artifact));
  }
  position.state = "ended";
  yield formatEvent(
    "end",
    position,
    `${ending(source).slice(0, -1)},"warnings":${results.warnings ?? "[]"}}`,
  );
}

function ending({ view: { row, results } }: EventSource): string {
  const { state, exitState, reason } = row;
  return JSON.stringify({ state, exitState, reason, error: results.errorDetail?.message ?? null });
}

/** `data` is JSON text, so it contains no line break. */
function formatEvent(name: ProcessEventName, position: EventPosition, data: string): string {
  return `id: ${formatEventId(position)}\nevent: ${name}\ndata: ${data}\n\n`;
}

const MIN_INTERVAL_MS = 250;
/**
 * Polling interval for changes without a notification: runs that end on other servers, and changes of other keys'
 * processes that a limited viewer is not notified about.
 */
const UNTOLD_INTERVAL_MS = 2000;
const CHANGED = "event: changed\ndata: {}\n\n";

/** Yields server-sent events as text until the client disconnects or the server stops. */
export async function* followList(
  feed: ProcessFeed,
  peers: Pick<Peers, "others" | "hadOthers">,
  seesAll: boolean,
  gone: AbortSignal,
): AsyncGenerator<string, void> {
  const signals = [gone, feed.closed];
  const over = AbortSignal.any(signals);
  // Also sent to a reconnecting client, which does not know what it missed.
  yield CHANGED;
  while (!seesAll && !over.aborted) {
    await sleep(UNTOLD_INTERVAL_MS, undefined, { signal: over }).catch(() => {});
    if (!over.aborted) yield CHANGED;
  }
  using waiter = new ChangeWaiter(feed, null, "state");
  while (!over.aborted) {
    await sleep(MIN_INTERVAL_MS, undefined, { signal: over }).catch(() => {});
    const hasOthers = peers.others > 0 || peers.hadOthers;
    const reason = await waiter.next(hasOthers ? UNTOLD_INTERVAL_MS : PING_INTERVAL_MS, signals);
    if (reason === "aborted") return;
    yield reason === "changed" || hasOthers ? CHANGED : PING;
  }
}
