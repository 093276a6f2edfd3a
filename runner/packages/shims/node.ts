/** What packages expect of Node's global object, put into bundles where they name it. A script has no such globals. */
import { process } from "./process.ts";

export const cyrnelNode = {
  process,
  /** Loaded with its first use. */
  get Buffer(): typeof import("node:buffer").Buffer {
    return (require("buffer") as typeof import("node:buffer")).Buffer;
  },
};
