/**
 * Which process on which machine this is, so that a successor on the same machine sees at once that it is gone and need
 * not wait until its silence is long enough. Only where that is certain: elsewhere nothing is concluded.
 */
import { readFileSync, readlinkSync } from "node:fs";
import type { Place } from "./model.ts";

/** Null where the system does not say (no /proc). */
export function findPlace(): Place | null {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
    const started = readStart(process.pid);
    if (boot === "" || started === null) return null;
    return { machine: `${boot} ${readlinkSync("/proc/self/ns/pid")}`, pid: process.pid, started };
  } catch {
    return null;
  }
}

/** Whether the process of a place has certainly ended, as seen from another. */
export function isGone(place: Place | null, own: Place | null): boolean {
  if (place === null || own === null || place.machine !== own.machine) return false;
  return readStart(place.pid) !== place.started;
}

/** In clock ticks since the machine was started; null when there is no such process, or it has ended. */
function readStart(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const hasEnded = fields[0] === "Z" || fields[0] === "X";
    return hasEnded ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}
