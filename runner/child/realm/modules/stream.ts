/** `node:stream`: the library's streams, which are Node's own. */
import { addWebStreams } from "./web-streams.ts";

// What they are made of is loaded as libraries of their own, so that there is one of each.
require("./events.ts");
require("./buffer.ts");

export const stream = require("readable-stream/lib/stream.js") as typeof import("node:stream");
export const stringDecoder =
  require("string_decoder/lib/string_decoder.js") as typeof import("node:string_decoder");
addWebStreams(stream);
