/** Groups as folders of the tree: their names, what is written into them, and how they go away. Alike in both versions. */
import { existsSync, readdirSync, rmdirSync } from "node:fs";
import { readFile, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { GroupFiles } from "./model.ts";

export const CPU_PERIOD_US = 100_000;
/** The least quota the kernel takes. */
const MIN_QUOTA_US = 1000;

/** The folder of one wall's groups: the process that made it, and which of its walls. */
const ROOT_NAME = /^cyrnel-(\d+)-\d+$/;
let wallCount = 0;
const REMOVE_TRIES = 20;
const REMOVE_INTERVAL_MS = 50;

export function nameRoot(): string {
  wallCount += 1;
  return `cyrnel-${process.pid}-${wallCount}`;
}

/** Microseconds of `CPU_PERIOD_US`. */
export function toQuota(cpuMillis: number): number {
  return Math.max(MIN_QUOTA_US, Math.round((cpuMillis * CPU_PERIOD_US) / 1000));
}

/** `events`: the file that counts them. */
export async function countMemoryKills(events: string): Promise<number> {
  return Number(/^oom_kill (\d+)$/m.exec(await readFile(events, "latin1"))?.[1] ?? "0");
}

/** Settings a kernel may be built without. */
export async function writeOptional(files: GroupFiles, path: string, value: string): Promise<void> {
  try {
    await files.writeFile(path, value);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "EOPNOTSUPP" && code !== "EACCES") throw error;
  }
}

/** Empty folders of servers that were killed. Done in the background; what cannot be removed stays. */
export function removeLeftoversSoon(base: string): void {
  setImmediate(() => {
    try {
      removeLeftovers(base);
    } catch {}
  });
}

/** One with a process in it cannot be removed. */
function removeLeftovers(base: string): void {
  for (const name of readdirSync(base)) {
    const pid = ROOT_NAME.exec(name)?.[1];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    const root = join(base, name);
    const groups = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    removeEmpty([...groups.map((group) => join(root, group.name)), root]);
  }
}

/** Removes groups whose processes are ending. */
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

/** A group with a process in it, or one above another, stays. */
export function removeEmpty(groups: readonly string[]): void {
  for (const group of groups) {
    try {
      rmdirSync(group);
    } catch {}
  }
}
