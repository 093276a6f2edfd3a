/** A time as people say it, right while the page is visible; the exact one is its title. */
import { signal } from "@preact/signals";
import { formatAgo, formatIn, formatTime } from "./format.ts";

const TICK_MS = 5000;

const now = signal(Date.now());

function tick(): void {
  if (!document.hidden) now.value = Date.now();
}
setInterval(tick, TICK_MS);
document.addEventListener("visibilitychange", tick);

/** Of what has been: "3 min ago". */
export function Ago({ at }: { at: string }) {
  return (
    <time dateTime={at} title={formatTime(at)}>
      {formatAgo(at, Math.max(now.value, Date.parse(at)))}
    </time>
  );
}

/** Of what is to come: "in 3 min". */
export function In({ at }: { at: string }) {
  return (
    <time dateTime={at} title={formatTime(at)}>
      {formatIn(at, now.value)}
    </time>
  );
}
