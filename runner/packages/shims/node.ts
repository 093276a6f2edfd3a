/** Node globals that packages expect, included in bundles that use them. Scripts have no such globals. */
import { process } from "./process.ts";

export const cyrnelNode = {
  process,
  /** Loaded on first use. */
  get Buffer(): typeof import("node:buffer").Buffer {
    return (require("buffer") as typeof import("node:buffer")).Buffer;
  },
};
