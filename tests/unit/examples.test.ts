/** The example scripts type-check against examples/cyrnel.d.ts, as an editor shows them. */
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const PROJECT = path.resolve(import.meta.dirname, "../..");

/** TypeScript cannot be told that a script is the body of an async function. */
const RETURN_OUTSIDE_FUNCTION = "TS1108";

test("type-check, apart from the return at the end", async () => {
  const outcome = await promisify(execFile)(path.join(PROJECT, "node_modules/.bin/tsc"), ["-p", "examples"], {
    cwd: PROJECT,
  }).catch((error: { stdout: string }) => error);
  const lines = outcome.stdout.split("\n").filter((line) => line !== "");
  expect(lines.filter((line) => !line.includes(RETURN_OUTSIDE_FUNCTION))).toEqual([]);
  // Otherwise nothing was checked at all.
  expect(lines.length).toBeGreaterThan(3);
});
