/** Every step of a process that asks people, against decisions, kills, expiry, the end of the hold, crashes and restarts. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  checkInterleaving,
  examples,
  schedule,
  script,
} from "#tests/integration/approvals/model/invariants.ts";
import { createMemoryTables } from "#tests/integration/approvals/model/memory-tables.ts";

/** More: `npm run bench -- interleavings`. */
const INTERLEAVINGS = 3000;

test(`in ${INTERLEAVINGS} interleavings no call is made twice, nothing is decided twice, and every process ends or waits for a person`, async () => {
  const seen = { crash: 0, detach: 0, kill: 0, carry: 0, resume: 0, expired: 0, denied: 0 };
  let executed = 0;
  await fc.assert(
    fc.asyncProperty(script, schedule, async (operations, picks) => {
      const world = await checkInterleaving(createMemoryTables(), operations, picks);
      const text = world.trace.join(" ");
      for (const word of Object.keys(seen) as (keyof typeof seen)[]) if (text.includes(word)) seen[word] += 1;
      executed += world.executed.size;
    }),
    { numRuns: INTERLEAVINGS, examples },
  );
  // The schedules did get to where it matters.
  for (const [word, times] of Object.entries(seen)) expect(times, word).toBeGreaterThan(INTERLEAVINGS / 200);
  expect(executed).toBeGreaterThan(INTERLEAVINGS / 4);
}, 600_000);
