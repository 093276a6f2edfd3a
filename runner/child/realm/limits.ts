import type { StartParams } from "../../wire/protocol.ts";

export type Limits = StartParams["limits"];

/** Deepest nesting of parameters, outputs and schemas. The host adds the levels of the message around them. */
export const MAX_VALUE_DEPTH = 64;
export const MAX_RESULT_DEPTH = 512;

export const run: Pick<StartParams, "limits" | "process" | "seed" | "input" | "files"> = {
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

/** True while the formatter of `console` runs. Only then do nodes of `tools` show their path. */
export const inspection = { active: false };
