/**
 * Warm-up: runs a fixed script in a throwaway context and discards its messages. Afterwards the code of a run is
 * compiled, and the memory it writes belongs to this process alone. No other context can observe it.
 */
import { runInNewContext } from "node:vm";
import type { StartParams } from "../wire/protocol.ts";

/** Does what most scripts do. Sets no timer, because waiting for one would start a thread. */
export const WARM_UP_CODE = `(async () => {
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
  code: WARM_UP_CODE,
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

export const WARM_UP_START = JSON.stringify({ jsonrpc: "2.0", method: "start", params });

/** Returns the reply that the host would send, or null. */
export function replyToWarmUp(json: string): string | null {
  const { id } = JSON.parse(json) as { id?: number };
  return id === undefined ? null : `{"jsonrpc":"2.0","id":${id},"result":[]}`;
}

/**
 * Returns a function that runs a full garbage collection, so that forks do not begin with one. No other context gets
 * it.
 */
export function prepareCollection(): () => void {
  // Loaded here because a child that boots by itself never collects, and the module costs a fifth of its start.
  const { setFlagsFromString, getHeapCodeStatistics } = process.getBuiltinModule("node:v8");
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options: object) => void;
  setFlagsFromString("--no-expose-gc");
  return () => {
    collect({ type: "major", flavor: "last-resort" });
    // Walking the heap makes V8 sweep the pages it has postponed. Otherwise each fork would sweep its own copies.
    getHeapCodeStatistics();
  };
}
