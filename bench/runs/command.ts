/**
 * `npm run bench -- command`: what `cyrnel --help` and `cyrnel run --local` cost, as ratios to a bare `node -e 0`; the latter without
 * a flag and with several. Rounds of the four alternate. Exit code 1 if a target is missed.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnBare } from "../bare-spawn.ts";
import { atMost, formatTable, median, ms, quantile, type Row } from "../stats.ts";

const SAMPLES = 50;
const MAX_HELP_MS = 150;
const MAX_RATIO = 5;
/** Flags cost nothing of their own. */
const MAX_FLAGS_RATIO = 1.1;
const FLAGS = ["--memory", "200", "--timeout", "20s", "--cpu", "10s", "--require", "strict", "--json"];
const CYRNEL = join(import.meta.dirname, "../../command/cyrnel");

/** Wall milliseconds to the result on standard output, and to the end of the program. */
async function start(args: string[], result: string): Promise<{ resultMs: number; endMs: number }> {
  const startedAt = performance.now();
  const child = spawn(CYRNEL, args, { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  let resultMs = Number.NaN;
  child.stdout.on("data", (chunk) => {
    text += chunk;
    if (Number.isNaN(resultMs) && text.includes(result)) resultMs = performance.now() - startedAt;
  });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`cyrnel ${args.join(" ")} ended with ${code}: ${text}`);
  return { resultMs, endMs: performance.now() - startedAt };
}

const folder = await mkdtemp(join(tmpdir(), "cyrnel-bench-"));
try {
  const script = join(folder, "script.ts");
  await writeFile(script, "const six: number = 6; return six * 7;");
  const runLocal = (flags: string[] = []) => start(["run", script, "--local", ...flags], "42");
  const help = () => start(["--help"], "Usage:");
  // The first start may build the command.
  await help();
  await runLocal();
  const bare: number[] = [];
  const helps: number[] = [];
  const results: number[] = [];
  const withFlags: number[] = [];
  const ends: number[] = [];
  for (let sample = 0; sample < SAMPLES; sample++) {
    bare.push(await spawnBare());
    helps.push((await help()).endMs);
    const { resultMs, endMs } = await runLocal();
    results.push(resultMs);
    ends.push(endMs);
    withFlags.push((await runLocal(FLAGS)).resultMs);
  }
  const yardstick = median(bare);
  const ratio = median(results) / yardstick;
  const bestRatio = quantile(results, 0) / quantile(bare, 0);
  const flagsRatio = median(withFlags) / median(results);
  const rows: Row[] = [
    { measure: "node -e 0", value: ms(yardstick) },
    atMost("cyrnel --help", median(helps), MAX_HELP_MS, ms(median(helps)), " ms"),
    atMost("cyrnel run --local: start to result, as a ratio", ratio, MAX_RATIO, ratio.toFixed(2), " x"),
    {
      measure: "the same of the best starts, on a machine with other work",
      value: `${bestRatio.toFixed(2)} x`,
    },
    { measure: "the same in ms", value: `${ms(median(results))} (best ${ms(quantile(results, 0))})` },
    atMost(
      `with ${FLAGS.join(" ")}, as a ratio to without`,
      flagsRatio,
      MAX_FLAGS_RATIO,
      flagsRatio.toFixed(2),
      " x",
    ),
    { measure: "start to end of the program", value: ms(median(ends)) },
  ];
  process.stdout.write(`${formatTable(rows)}\n`);
  if (rows.some(({ met }) => met === false)) process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true });
}
