/**
 * Web-platform tests of fetch, bodies, forms and files on both environments, each file in a run of its own; what is left out stands in
 * left-out.json.
 */
import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Bench } from "#tests/contract/bench.ts";
import { ENVIRONMENT_IDS, FILES, openEnvironment, runFile } from "./run.ts";

/** Total of all files; raise it when files are added. */
const PASSED = 1073;
/** All folders of fetch/api where the files come from. */
const FETCH_FOLDERS =
  "abort basic body cors crashtests credentials headers policies redirect request resources response".split(
    " ",
  );

interface LeftOut {
  /** By folder of fetch/api: why none of its files is there. */
  folders: Record<string, string>;
  /** By file: why it is not there. */
  files: Record<string, string>;
  /** By file and reason: the tests that fail. */
  tests: Record<string, Record<string, string[]>>;
}

const leftOut = JSON.parse(
  await readFile(path.join(import.meta.dirname, "left-out.json"), "utf8"),
) as LeftOut;
const files = globSync("**/*.any.js", { cwd: FILES }).sort();

test("every folder of fetch/api is there, or left out for a reason", () => {
  const names = FETCH_FOLDERS.map((folder) => `fetch/api/${folder}`);
  const isThere = (name: string) => files.some((file) => file.startsWith(`${name}/`));
  expect(names.filter((name) => !isThere(name))).toEqual(Object.keys(leftOut.folders).sort());
  expect(Object.values(leftOut.folders).filter((reason) => reason.length < 20)).toEqual([]);
});

describe.each(ENVIRONMENT_IDS)("%s", (id) => {
  let bench: Bench & AsyncDisposable;
  let passed = 0;

  beforeAll(async () => {
    bench = await openEnvironment(id);
  });
  afterAll(() => bench?.[Symbol.asyncDispose]());

  test.each(files)("%s", async (name) => {
    const outcomes = await runFile(bench, name);
    const failed = outcomes.filter(({ ok }) => !ok).map((outcome) => outcome.name);
    expect(failed.sort()).toEqual(
      Object.values(leftOut.tests[name] ?? {})
        .flat()
        .sort(),
    );
    passed += outcomes.length - failed.length;
  });

  test("as many tests pass as did", () => {
    expect(passed).toBe(PASSED);
  });
});
