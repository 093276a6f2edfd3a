/**
 * `npm run bench -- packages [--rounds n]`: what a package of the starter set, or a module of Node, costs a warm run, over a run that imports
 * nothing; both take turns, one at a time, in both environments without a server around them. Beside it, what the same package takes in a
 * plain Node with a code cache. Exit code 1 if a target is missed.
 */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { instantiate as instantiateIvm } from "#modules/typescript-ivm/index.ts";
import { instantiate as instantiateProcess } from "#modules/typescript-process/index.ts";
import type { BundledPackage } from "#runner/packages/bundle.ts";
import { splitParts } from "#runner/packages/bundle-text.ts";
import { STARTER_SET, starterFile } from "#runner/packages/starter.ts";
import { openBench } from "#tests/contract/bench.ts";
import { atMost, formatTable, median, ms, type Row } from "../stats.ts";
import { measurePlainImport } from "./plain-import.ts";

const WARM_UP_RUNS = 12;
/** Between two runs: a child has started by then. */
const PAUSE_MS = 40;
/** Where none is said, it is only printed. */
const MAX_MORE_MS: Record<string, number> = { zod: 6, "date-fns": 3, papaparse: 3, yaml: 3 };
const SCRIPTS: Record<string, string> = {
  zod: 'import { z } from "zod"; return z.object({ name: z.string() }).parse({ name: "a" })',
  "date-fns":
    'import { addDays, format } from "date-fns"; return format(addDays(new Date(0), 1), "yyyy-MM-dd")',
  papaparse: 'import Papa from "papaparse"; return Papa.parse("a,b\\n1,2", { header: true }).data',
  yaml: 'import { parse } from "yaml"; return parse("a: [1, 2]")',
  "lodash-es": 'import { chunk } from "lodash-es"; return chunk([1, 2, 3], 2)',
  cheerio: 'import * as cheerio from "cheerio"; return cheerio.load("<p>a</p>")("p").text()',
  mathjs: 'import { evaluate } from "mathjs"; return evaluate("1 + 2")',
  "pdf-lib":
    'import { PDFDocument } from "pdf-lib"; return (await (await PDFDocument.create()).save()).length',
  "node:stream": 'import { Readable } from "node:stream"; return typeof Readable.from(["a"])',
  "node:util": 'import { inspect } from "node:util"; return inspect({ a: 1 })',
  "node:url": 'import { fileURLToPath } from "node:url"; return fileURLToPath("file:///a")',
  "node:crypto":
    'import { createHash } from "node:crypto"; return createHash("sha256").update("a").digest("hex")',
  "crypto.subtle":
    'const key = await crypto.subtle.importKey("raw", new Uint8Array(32), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]); return (await crypto.subtle.sign("HMAC", key, new Uint8Array(1))).byteLength',
};
const PLAIN = "return { name: 1 }";

const { values } = parseArgs({ options: { rounds: { type: "string", default: "40" } } });
const bundles = new Map<string, BundledPackage>(
  STARTER_SET.filter((name) => name in SCRIPTS).map((name) => [
    name,
    JSON.parse(readFileSync(starterFile(name), "utf8")),
  ]),
);
const byDigest = new Map([...bundles.values()].map((bundle) => [bundle.digest, bundle]));

const plainMs = new Map<string, number>();
for (const name of Object.keys(MAX_MORE_MS)) {
  const { main, all } = splitParts(bundles.get(name)?.code ?? "");
  plainMs.set(name, await measurePlainImport(`(${main ?? all}\n)`));
}

const rows: Row[] = [];
for (const [environment, instantiate, config] of [
  ["typescript-process", instantiateProcess, { maxConcurrency: 2, warmPool: { min: 2, max: 2 } }],
  ["typescript-ivm", instantiateIvm, { slots: 1, minSlots: 1 }],
] as const) {
  await using bench = await openBench({
    instantiate,
    config,
    packages: {
      findPackage: async (_eid, { name }) => bundles.get(name) ?? { message: "There is none." },
      readPackage: async (_eid, digest) => byDigest.get(digest) as BundledPackage,
    },
  });
  const time = async (code: string) => {
    await sleep(PAUSE_MS);
    const { state, error, wallMs } = await bench.run(code);
    if (state !== "success") throw new Error(`a run failed: ${JSON.stringify(error)}`);
    return wallMs;
  };
  for (const [name, script] of Object.entries(SCRIPTS)) {
    for (let run = 0; run < WARM_UP_RUNS; run++) await time(run % 2 === 0 ? script : PLAIN);
    const more: number[] = [];
    const plain: number[] = [];
    for (let round = 0; round < Number(values.rounds); round++) {
      const codes = round % 2 === 0 ? [PLAIN, script] : [script, PLAIN];
      const [first = 0, second = 0] = [await time(codes[0] as string), await time(codes[1] as string)];
      plain.push(round % 2 === 0 ? first : second);
      more.push(round % 2 === 0 ? second - first : first - second);
    }
    const { sizes } = bundles.get(name) ?? {};
    const yardstick = plainMs.has(name) ? `; plain Node ${ms(plainMs.get(name) ?? 0)}` : "";
    const size = sizes === undefined ? "" : ` (${Math.round(sizes.code / 1024)} KiB${yardstick})`;
    const shown = `${ms(median(more))} over ${ms(median(plain))}${size}`;
    const measure = `${environment}: a warm run with ${name}`;
    const most = MAX_MORE_MS[name];
    rows.push(
      most === undefined ? { measure, value: shown } : atMost(measure, median(more), most, shown, " ms"),
    );
  }
}
console.log(formatTable(rows));
if (rows.some(({ met }) => met === false)) process.exitCode = 1;
