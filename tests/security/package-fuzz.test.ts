/** Hostile packages, from fixed seeds, against all that reads one on the host. */
import { expect, test } from "vitest";
import { fuzzPackages } from "./package-fuzz/campaign.ts";

const COUNTS = { tarballs: 300, manifests: 300, locks: 500, bundles: 12 };

test("hostile tarballs, descriptions, lock files and modules reach nothing outside of their folder", async () => {
  const { faults, ...judged } = await fuzzPackages(COUNTS, 1);
  expect(faults).toEqual([]);
  for (const [kind, { count, taken }] of Object.entries(judged)) {
    // A campaign in which everything is refused, or nothing, would prove nothing.
    expect([kind, count]).toEqual([kind, COUNTS[kind as keyof typeof COUNTS]]);
    expect(taken, kind).toBeGreaterThan(count / 10);
    expect(taken, kind).toBeLessThan(count);
  }
}, 300_000);
