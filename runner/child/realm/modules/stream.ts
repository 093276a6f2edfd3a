/** `node:stream`: the library's streams, which are Node's code. */
import { addWebStreams } from "./web-streams.ts";

// Their dependencies are loaded as separate libraries, so that only one copy of each exists.
require("./events.ts");
require("./buffer.ts");

export const stream = require("readable-stream/lib/stream.js") as typeof import("node:stream");
export const stringDecoder =
  require("string_decoder/lib/string_decoder.js") as typeof import("node:string_decoder");
addWebStreams(stream);
