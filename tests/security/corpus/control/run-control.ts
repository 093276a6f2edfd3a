/** Tries the script of a probe in the sandbox of its control, in a process of its own, and looks for the sign. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ControlSign, Probe } from "../probe.ts";

const PROGRAM = join(import.meta.dirname, "sandbox.cjs");
/** Longer than such a probe gives its run. */
const SPINS_FOR_MS = 400;
/** Bare Node takes a third of this. */
const GROWS_TO_BYTES = 128 * 1024 * 1024;
const MAX_WAIT_MS = 60_000;
const PAGE_BYTES = 4096;
/** A host whose time zone and environment are worth something. */
const HOST_ENVIRONMENT = { TZ: "Asia/Tokyo", SECRET: "canary-of-the-host", PATH: "/usr/bin:/bin" };

/** Null if the attack works there, as it should; else what was seen in its place. */
export async function runControl(probe: Probe): Promise<string | null> {
  const { control } = probe;
  if (control === undefined) throw new Error(`${probe.id} has no control.`);
  const child = spawn(process.execPath, ["--no-warnings", PROGRAM, control.in], {
    env: HOST_ENVIRONMENT,
    cwd: tmpdir(),
    stdio: ["pipe", "pipe", "ignore"],
  });
  const closed = new Promise<"closed">((resolve) => child.once("close", () => resolve("closed")));
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output = (output + text).slice(-100_000);
  });
  child.stdin.on("error", () => {});
  child.stdin.end(control.script ?? probe.script);
  try {
    if (control.shows === "spins") {
      const first = await Promise.race([closed, sleep(SPINS_FOR_MS)]);
      return first === "closed" ? `it ended: ${output.slice(-300)}` : null;
    }
    if (control.shows === "grows") return await waitForGrowth(child.pid as number, closed);
    if ((await Promise.race([closed, sleep(MAX_WAIT_MS)])) === null) return "it did not end";
    return findSign(control.shows, output);
  } finally {
    child.kill("SIGKILL");
    await closed;
  }
}

const sleep = (ms: number) => new Promise<null>((resolve) => setTimeout(() => resolve(null), ms));

async function waitForGrowth(pid: number, closed: Promise<"closed">): Promise<string | null> {
  const until = performance.now() + MAX_WAIT_MS;
  let resident = 0;
  while (performance.now() < until) {
    if ((await Promise.race([closed, sleep(20)])) === "closed") return `it ended at ${resident} bytes`;
    const pages = readFileSync(`/proc/${pid}/statm`, "latin1").split(" ")[1];
    resident = Number(pages) * PAGE_BYTES;
    if (resident > GROWS_TO_BYTES) return null;
  }
  return `it took ${resident} bytes`;
}

function findSign(sign: Exclude<ControlSign, "spins" | "grows">, output: string): string | null {
  const line = output.trim().split("\n").at(-1) ?? "";
  let seen: { loot: unknown; forged: unknown[]; polluted: boolean };
  try {
    seen = JSON.parse(line);
  } catch {
    return `no report: ${output.slice(-300)}`;
  }
  const isThere =
    sign === "loot"
      ? Array.isArray(seen.loot) && seen.loot.length > 0
      : sign === "forged"
        ? seen.forged.length > 0
        : seen.polluted;
  return isThere ? null : `no ${sign}: ${line.slice(0, 500)}`;
}
