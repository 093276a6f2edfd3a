/** What one run of the realm was told by `start`: its limits and its process. */
import type { StartParams } from "../../protocol.ts";

export type Limits = StartParams["limits"];

/** Levels the envelope of a message adds around a value, of the nesting the host accepts in a message. */
const ENVELOPE_LEVELS = 3;
/** Nesting of parameters and of outputs: 64 for the whole message. */
export const MAX_VALUE_DEPTH = 64 - ENVELOPE_LEVELS;
/** Nesting of a result: 512 for the whole message. */
export const MAX_RESULT_DEPTH = 512 - ENVELOPE_LEVELS;

export const run: { limits: Limits; process: StartParams["process"]; seed: string } = {
  limits: {
    maxConcurrentCalls: 1,
    maxCalls: 0,
    maxMessageBytes: 64 * 1024,
    maxStdoutBytes: 0,
    maxStderrBytes: 0,
    maxOutputBytes: 0,
    maxResultBytes: 0,
  },
  process: { id: 0, ref: null },
  seed: "",
};
