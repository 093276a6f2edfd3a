/**
 * The conformance suite of adapters: every promise of the module contract, run against whichever adapter a test file
 * names. A difference between adapters is declared there, with its reason.
 */
import { describe, expect, test } from "vitest";
import { type AdapterUnderTest, openAdapterBench } from "./adapters/suite/bench.ts";
import { ADAPTER_CASES } from "./adapters/suite/cases.ts";

export interface AdapterDifferences {
  /** Why it has no server to call: cases that need one do not apply. */
  callsNothing?: string;
  /** Case id to reason. */
  cases?: Record<string, string>;
}

/** Defines every case as a test of the adapter. */
export function defineAdapterCases(
  name: string,
  subject: AdapterUnderTest,
  { callsNothing, cases = {} }: AdapterDifferences = {},
): void {
  describe(name, () => {
    for (const { id, sentence, callsOut, check } of ADAPTER_CASES) {
      const reason = cases[id] ?? (callsOut ? callsNothing : undefined);
      if (reason !== undefined) test.skip(`${id}: ${sentence} (differs: ${reason})`);
      else
        test(`${id}: ${sentence}`, async () => {
          await using bench = await openAdapterBench(subject);
          await check(bench);
        });
    }
    test.each(Object.keys(cases))("the declared difference %s names a case", (id) => {
      expect(ADAPTER_CASES.map((entry) => entry.id)).toContain(id);
    });
  });
}
