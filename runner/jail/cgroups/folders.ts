import { existsSync, readdirSync, rmdirSync } from "node:fs";
import { readFile, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { GroupFiles } from "./model.ts";

export const CPU_PERIOD_US = 100_000;
/** Smallest quota that the kernel accepts. */
const MIN_QUOTA_US = 1000;

/** Folder of one environment's groups: the server's pid, and a counter. */
const ROOT_NAME = /^cyrnel-(\d+)-\d+$/;
let wallCount = 0;
const REMOVE_TRIES = 20;
const REMOVE_INTERVAL_MS = 50;

export function nameRoot(): string {
  wallCount += 1;
  return `cyrnel-${process.pid}-${wallCount}`;
}

/** Converts to microseconds per `CPU_PERIOD_US`. */
export function toQuota(cpuMillis: number): number {
  return Math.max(MIN_QUOTA_US, Math.round((cpuMillis * CPU_PERIOD_US) / 1000));
}

export async function countMemoryKills(events: string): Promise<number> {
  return Number(/^oom_kill (\d+)$/m.exec(await readFile(events, "latin1"))?.[1] ?? "0");
}

/** Writes a setting that some kernels are built without. */
export async function writeOptional(files: GroupFiles, path: string, value: string): Promise<void> {
  try {
    await files.writeFile(path, value);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "EOPNOTSUPP" && code !== "EACCES") throw error;
  }
}

/** Removes empty folders of killed servers in the background; ignores failures. */
export function removeLeftoversSoon(base: string): void {
  setImmediate(() => {
    try {
      removeLeftovers(base);
    } catch {}
  });
}

/** A group that contains a process cannot be removed. */
function removeLeftovers(base: string): void {
  for (const name of readdirSync(base)) {
    const pid = ROOT_NAME.exec(name)?.[1];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    const root = join(base, name);
    const groups = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    removeEmpty([...groups.map((group) => join(root, group.name)), root]);
  }
}

export async function removeSoon(groups: readonly string[]): Promise<void> {
  for (let tries = 0; tries < REMOVE_TRIES; tries += 1) {
    const left = await Promise.all(groups.map((group) => rmdir(group).then(() => false, isStillThere)));
    if (!left.includes(true)) return;
    await delay(REMOVE_INTERVAL_MS);
  }
}

function isStillThere(error: NodeJS.ErrnoException): boolean {
  return error.code !== "ENOENT";
}

export function removeEmpty(groups: readonly string[]): void {
  for (const group of groups) {
    try {
      rmdirSync(group);
    } catch {}
  }
}
