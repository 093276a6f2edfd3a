/** The corpus of slightly wrong scripts (bench/truth/cases) on a server as `npm start` starts it: none may be silently wrong. */
import { execFile } from "node:child_process";
import path from "node:path";
import { expect, test } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "../..");
const MAX_MS = 15 * 60_000;

test.concurrent.each(["typescript-process", "typescript-ivm"])(
  "%s gets at least 90 % of the corpus right, and nothing silently wrong",
  async (environment) => {
    const args = ["bench/truth/truth.ts", `--on=${environment}`];
    const printed = await new Promise<string>((resolve) =>
      execFile(
        process.execPath,
        args,
        { cwd: ROOT, timeout: MAX_MS, maxBuffer: 2 ** 25 },
        (_error, stdout, stderr) => resolve(stdout + stderr),
      ),
    );
    const [, count, right, wrong] =
      /(\d+) scripts, (\d+) right \(\d+ %\), \d+ loud, (\d+) silently wrong/.exec(printed) ?? [];
    expect(Number(count), printed).toBeGreaterThanOrEqual(200);
    expect(Number(wrong), printed).toBe(0);
    expect(Number(right) / Number(count), printed).toBeGreaterThanOrEqual(0.9);
  },
  MAX_MS,
);
