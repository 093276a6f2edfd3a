/**
 * Remembers, in a file beside the module, that its activation at a start was begun: one that ends the server would end it
 * at every start. After `MAX_UNFINISHED` in a row it is left out until somebody asks for it.
 */
import { readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";

export const MAX_UNFINISHED = 2;
const ATTEMPT_PREFIX = ".activating-";

export interface Attempts {
  /** How many activations were begun in a row that never got through. */
  count(folder: string): Promise<number>;
  /** Notes that one begins. */
  begin(folder: string): Promise<void>;
  /** It got through, well or not; or somebody has decided about the module since. */
  clear(folder: string): Promise<void>;
}

/** Where nothing can be written nothing is remembered. */
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
