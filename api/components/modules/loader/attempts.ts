/**
 * Counts unfinished activations at server start in a file next to the module, because a module that crashes the
 * server would crash it at every start. After `MAX_UNFINISHED` such activations in a row, the module is skipped until
 * it is enabled again.
 */
import { readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";

export const MAX_UNFINISHED = 2;
const ATTEMPT_PREFIX = ".activating-";

export interface Attempts {
  count(folder: string): Promise<number>;
  begin(folder: string): Promise<void>;
  clear(folder: string): Promise<void>;
}

export function createAttempts(directory: string): Attempts {
  const at = (folder: string) => path.join(directory, ATTEMPT_PREFIX + folder);
  const count = async (folder: string) => {
    const text = await readFile(at(folder), "utf8").catch(() => "");
    return /^\d{1,6}$/.test(text) ? Number(text) : 0;
  };
  return {
    count,
    begin: async (folder) => writeFile(at(folder), String((await count(folder)) + 1)).catch(() => {}),
    clear: (folder) => rm(at(folder), { force: true }).catch(() => {}),
  };
}
