/** A moment as people say it, right as long as somebody looks; the exact one is its title. */
import { now } from "./clock.ts";
import { formatAgo, formatIn, formatTime } from "./format.ts";

/** Of what has been: "3 min ago". */
export function Ago({ at }: { at: string }) {
  return (
    <time dateTime={at} title={formatTime(at)}>
      {formatAgo(at, Math.max(now.value, Date.parse(at)))}
    </time>
  );
}

/** Of what lies ahead: "in 3 min". */
export function In({ at }: { at: string }) {
  return (
    <time dateTime={at} title={formatTime(at)}>
      {formatIn(at, now.value)}
    </time>
  );
}
