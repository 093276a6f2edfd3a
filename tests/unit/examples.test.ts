/** The example scripts type-check against the declarations beside them, as an editor shows them; the example modules against the SDK. */

import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { TSC } from "#tests/checks/packages.ts";

const PROJECT = path.resolve(import.meta.dirname, "../..");

/** TypeScript cannot be told that a script is the body of an async function. */
const RETURN_OUTSIDE_FUNCTION = "TS1108";

test("type-check, apart from the return at the end", async () => {
  const outcome = await promisify(execFile)(TSC, ["-p", "examples"], {
    cwd: PROJECT,
  }).catch((error: { stdout: string }) => error);
  const lines = outcome.stdout.split("\n").filter((line) => line !== "");
  expect(lines.filter((line) => !line.includes(RETURN_OUTSIDE_FUNCTION))).toEqual([]);
  // Otherwise nothing was checked at all.
  expect(lines.length).toBeGreaterThan(3);
});

test("the modules type-check against the contract", async () => {
  const outcome = await promisify(execFile)(TSC, ["-p", "examples/modules", "--listFilesOnly"], {
    cwd: PROJECT,
  });
  expect(outcome.stdout.match(/examples\/modules\/.*\.mts$/gm)?.length).toBeGreaterThan(8);
  const checked = await promisify(execFile)(TSC, ["-p", "examples/modules", "--noEmit"], {
    cwd: PROJECT,
  }).catch((error: { stdout: string }) => error);
  expect(checked.stdout).toBe("");
});
