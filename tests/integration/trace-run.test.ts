/** Keeps the number of files that one run crosses from growing unnoticed. */
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "../..");
/** As measured, with some room for the paused run, which meets timers on a busy machine. */
const MOST = { "a run": 48, "a run with a tool call": 68, "a run, paused and approved": 102 };

test("a run crosses no more files than it did", { timeout: 180_000 }, async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["bench/trace-run.ts"], { cwd: ROOT });
  for (const [trip, most] of Object.entries(MOST)) {
    const files = new RegExp(`^\\| ${trip} +\\| (\\d+) files`, "m").exec(stdout)?.[1];
    expect(Number(files), trip).toBeGreaterThan(10);
    expect(Number(files), trip).toBeLessThanOrEqual(most);
  }
});
