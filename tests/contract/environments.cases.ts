/**
 * The conformance suite of environments: every behaviour of the script contract, run through the module contract
 * against whichever environment a test file names. A difference between environments is declared here, with its reason.
 */
import { afterAll, beforeAll, describe, test } from "vitest";
import { type Bench, type EnvironmentCase, type EnvironmentUnderTest, openBench } from "./bench.ts";
import { callCases } from "./cases/calls.ts";
import { consoleCases } from "./cases/console.ts";
import { cryptoCases } from "./cases/crypto.ts";
import { documentationCases } from "./cases/documentation.ts";
import { errorCases } from "./cases/errors.ts";
import { fetchCases } from "./cases/fetch.ts";
import { fileCases } from "./cases/files.ts";
import { globalCases } from "./cases/globals.ts";
import { isolationCases } from "./cases/isolation.ts";
import { limitCases } from "./cases/limits.ts";
import { CASE_PACKAGES, packageCases } from "./cases/packages.ts";
import { resultCases } from "./cases/results.ts";
import { sourceCases } from "./cases/sources.ts";
import { streamCases } from "./cases/streams.ts";
import { unfinishedCases } from "./cases/unfinished.ts";
import { valueCases } from "./cases/values.ts";
import { webCases } from "./cases/web.ts";
import { servePackages } from "./packages.ts";

export const ENVIRONMENT_CASES: readonly EnvironmentCase[] = [
  ...globalCases,
  ...cryptoCases,
  ...consoleCases,
  ...resultCases,
  ...valueCases,
  ...sourceCases,
  ...packageCases,
  ...errorCases,
  ...callCases,
  ...unfinishedCases,
  ...fileCases,
  ...fetchCases,
  ...streamCases,
  ...webCases,
  ...limitCases,
  ...isolationCases,
  ...documentationCases,
];

/** Case id to reason: what an environment does not do like the others. */
export type DeclaredDifferences = Record<string, string>;

export const NO_DIFFERENCES: DeclaredDifferences = {};

/** Defines every case as a test of the environment. */
export function defineEnvironmentCases(
  name: string,
  subject: EnvironmentUnderTest,
  differences: DeclaredDifferences = NO_DIFFERENCES,
): void {
  describe(name, () => {
    let bench: Bench & AsyncDisposable;
    beforeAll(async () => {
      bench = await openBench({ packages: servePackages(CASE_PACKAGES), ...subject });
    });
    afterAll(async () => {
      await bench?.[Symbol.asyncDispose]();
    });
    for (const { id, sentence, check } of ENVIRONMENT_CASES) {
      const reason = differences[id];
      if (reason === undefined) test(`${id}: ${sentence}`, () => check(bench));
      else test.skip(`${id}: ${sentence} (differs: ${reason})`);
    }
    for (const id of Object.keys(differences)) {
      test(`the declared difference ${id} names a case`, ({ expect }) => {
        expect(ENVIRONMENT_CASES.map((entry) => entry.id)).toContain(id);
      });
    }
  });
}
