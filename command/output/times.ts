/** Points in time and how long something took, short enough for a table. */

const STEPS: readonly [ms: number, unit: string][] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1000, "s"],
];

/** `3 min ago`; empty for a time that is none. */
export function ago(iso: string | null): string {
  const at = iso === null ? Number.NaN : Date.parse(iso);
  if (Number.isNaN(at)) return "";
  const ms = Math.max(0, Date.now() - at);
  return `${inUnits(ms)} ago`;
}

/** `in 3 h`, or `expired`. */
export function until(iso: string | null): string {
  const at = iso === null ? Number.NaN : Date.parse(iso);
  if (Number.isNaN(at)) return "";
  return at <= Date.now() ? "expired" : `in ${inUnits(at - Date.now())}`;
}

/** Empty for what has not begun; up to now for what has not ended. */
export function took(from: string | null, to: string | null): string {
  if (from === null) return "";
  return inUnits(Math.max(0, (to === null ? Date.now() : Date.parse(to)) - Date.parse(from)));
}

function inUnits(ms: number): string {
  const [stepMs, unit] = STEPS.find(([size]) => ms >= size) ?? [1, "ms"];
  return `${Math.floor(ms / stepMs)} ${unit}`;
}
