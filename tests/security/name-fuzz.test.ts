/** Hostile names of files and specifiers of imports, from fixed seeds. FUZZ_NAMES sets how many are tried. */
import { expect, test } from "vitest";
import { fuzzNames } from "./name-fuzz/campaign.ts";

const NAMES = Number(process.env.FUZZ_NAMES ?? 10_000);

test(
  `${NAMES} hostile names, and as many specifiers, lead nowhere but into the workspace`,
  async () => {
    const { names, taken, specifiers, found, faults } = await fuzzNames(NAMES, 1);
    expect(faults).toEqual([]);
    expect(names).toBeGreaterThanOrEqual(NAMES);
    // A campaign in which everything is refused would prove nothing.
    expect(taken).toBeGreaterThan(NAMES / 20);
    expect(specifiers).toBeGreaterThanOrEqual(NAMES);
    expect(found).toBeGreaterThan(NAMES / 20);
  },
  120_000 + NAMES,
);
