/** Formats numbers, times and texts for display. */
import { signal } from "@preact/signals";

const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const CLOCK = new Intl.DateTimeFormat("en", {
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hour12: false,
});

export function formatMs(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1) return "< 1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${NUMBER.format(ms / 1000)} s`;
  if (ms < 3_600_000) {
    const seconds = Math.round((ms % 60_000) / 1000);
    return `${Math.floor(ms / 60_000)} min${seconds === 0 ? "" : ` ${seconds} s`}`;
  }
  return `${NUMBER.format(ms / 3_600_000)} h`;
}

export function formatBytes(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return "–";
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 ** 2) return `${NUMBER.format(bytes / 1024)} KiB`;
  if (bytes < 1024 ** 3) return `${NUMBER.format(bytes / 1024 ** 2)} MiB`;
  return `${NUMBER.format(bytes / 1024 ** 3)} GiB`;
}

export function formatTime(iso: string | null | undefined): string {
  return iso === null || iso === undefined ? "–" : CLOCK.format(new Date(iso));
}

export function formatAgo(iso: string, now = Date.now()): string {
  const ms = now - Date.parse(iso);
  if (ms < 5000) return "just now";
  return `${formatSpan(ms)} ago`;
}

export function formatIn(iso: string, now = Date.now()): string {
  const ms = Date.parse(iso) - now;
  return ms <= 0 ? "now" : `in ${formatSpan(ms)}`;
}

function formatSpan(ms: number): string {
  if (ms < 60_000) return `${Math.round(ms / 1000)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 172_800_000) return `${Math.round(ms / 3_600_000)} h`;
  return `${Math.round(ms / 86_400_000)} days`;
}

/** Returns for example "1 call" or "2 calls". */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${NUMBER.format(number)} ${number === 1 ? one : many}`;
}

/** Reads patterns separated by line breaks or commas. */
export function readPatterns(text: string): string[] {
  return text
    .split(/[\n,]/)
    .map((pattern) => pattern.trim())
    .filter((pattern) => pattern !== "");
}

const TICK_MS = 5000;

/** Current time, updated only while the page is visible. */
const now = signal(Date.now());

function tick(): void {
  if (!document.hidden) now.value = Date.now();
}
setInterval(tick, TICK_MS);
document.addEventListener("visibilitychange", tick);

/** Shows a past time as "3 min ago", with the exact time as its title. */
export function Ago({ at }: { at: string }) {
  return (
    <time dateTime={at} title={formatTime(at)}>
      {formatAgo(at, Math.max(now.value, Date.parse(at)))}
    </time>
  );
}

/** Shows a future time as "in 3 min". */
export function In({ at }: { at: string }) {
  return (
    <time dateTime={at} title={formatTime(at)}>
      {formatIn(at, now.value)}
    </time>
  );
}
