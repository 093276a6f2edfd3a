import { describe, expect, test } from "vitest";
import {
  mayChangeState,
  PROCESS_STATES,
  type ProcessState,
  statesBefore,
} from "#api/processes/model/states.ts";

/** Every pair that may happen, written out: the table in states.ts must say exactly this. */
const ALLOWED = new Set([
  "idle>queued",
  "idle>running",
  "queued>running",
  "queued>idle",
  "running>paused",
  "running>queued",
  "running>terminating",
  "running>idle",
  "paused>running",
  "paused>queued",
  "paused>terminating",
  "paused>idle",
  "terminating>idle",
]);

describe("changes of state", () => {
  const pairs = PROCESS_STATES.flatMap((from) =>
    PROCESS_STATES.map((to): [ProcessState, ProcessState] => [from, to]),
  );

  test.each(pairs)("%s to %s", (from, to) => {
    expect(mayChangeState(from, to)).toBe(ALLOWED.has(`${from}>${to}`));
    expect(statesBefore(to).includes(from)).toBe(ALLOWED.has(`${from}>${to}`));
  });
});
