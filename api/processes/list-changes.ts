/**
 * The event stream of the list of processes: that it changed, never what. Whoever follows reads the list anew, as far as
 * it shows it; so a burst of changes is one event, and nothing is kept for a slow client.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Peers } from "./across/peers.ts";
import { PING } from "./events.ts";
import { ChangeWaiter, type ProcessFeed } from "./live/feed.ts";

const MIN_INTERVAL_MS = 250;
const PING_INTERVAL_MS = 15_000;
/** How runs end on other servers is not told; who sees its own processes only is not told when those of others change. */
const UNTOLD_INTERVAL_MS = 2000;
const CHANGED = "event: changed\ndata: {}\n\n";

/** Yields server-sent events as text until the client has gone or the server stops. */
export async function* followList(
  feed: ProcessFeed,
  peers: Pick<Peers, "others" | "hadOthers">,
  seesAll: boolean,
  gone: AbortSignal,
): AsyncGenerator<string, void> {
  const signals = [gone, feed.closed];
  const over = AbortSignal.any(signals);
  // Also to a client that comes back: it does not know what it missed.
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
