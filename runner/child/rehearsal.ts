/**
 * A run that is none: a fixed script in a context of its own, whose messages go nowhere. After it, the code of a run is
 * compiled and the memory it writes is this process's own. Nothing of it can be seen from another context.
 */
import { runInNewContext } from "node:vm";
import type { StartParams } from "../wire/protocol.ts";

/** What most scripts do. No timer: waiting for one would start a thread. */
export const REHEARSED_CODE = `(async () => {
  "use strict";
  console.log("text", 1, { a: [1, "b"] });
  await tools.service.tool({ text: "a" });
  try {
    await cyrnel.discoverServices();
    null.x;
  } catch (error) {
    return { items: [{ id: 1, text: String(error.message) }] };
  }
})`;
const MAX_BYTES = 1 << 20;

const params: StartParams = {
  code: REHEARSED_CODE,
  mappings: "AAAA",
  process: { id: 1, ref: null },
  seed: "A".repeat(43),
  randomSeed: [1, 2, 3, 4],
  readsWideClocks: false,
  limits: {
    maxConcurrentCalls: 8,
    maxCalls: 8,
    maxMessageBytes: MAX_BYTES,
    maxStdoutBytes: MAX_BYTES,
    maxStderrBytes: MAX_BYTES,
    maxOutputBytes: MAX_BYTES,
    maxResultBytes: MAX_BYTES,
  },
};

export const REHEARSED_START = JSON.stringify({ jsonrpc: "2.0", method: "start", params });

/** What the host would answer to a message; null: nothing. */
export function answerRehearsed(json: string): string | null {
  const { id } = JSON.parse(json) as { id?: number };
  return id === undefined ? null : `{"jsonrpc":"2.0","id":${id},"result":[]}`;
}

/** A full collection of garbage, for a process whose forks must not begin with one. No other context ever has it. */
export function prepareCollection(): () => void {
  // Not imported: a child that boots by itself never collects, and loading it costs a fifth of its start.
  const { setFlagsFromString, getHeapCodeStatistics } = process.getBuiltinModule("node:v8");
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options: object) => void;
  setFlagsFromString("--no-expose-gc");
  return () => {
    collect({ type: "major", flavor: "last-resort" });
    // Walks the heap, so V8 first sweeps the pages it has put off: else each fork would, in copies of its own of them.
    getHeapCodeStatistics();
  };
}
