/** Node's globals that packages expect, put into bundles that name them. A script has no such globals. */
import { process } from "./process.ts";

export const cyrnelNode = {
  process,
  /** Loaded at its first use. */
  get Buffer(): typeof import("node:buffer").Buffer {
    return (require("buffer") as typeof import("node:buffer")).Buffer;
  },
};
