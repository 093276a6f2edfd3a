/**
 * Measures the tool search: how often questions in everyday words find the right tool (bench/tools/search-questions), and
 * the cost of one page over 10,000 tools in its own Postgres. `--misses` lists the questions of `tuning` that miss; the
 * other two sets print totals only. Run: node bench/tools/search.ts
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { startEmbeddedPostgres } from "#api/db/embedded.ts";
import { migrate } from "#api/db/migrate.ts";
import { createPool } from "#api/db/pool.ts";
import { OPEN_GATE } from "#api/tools/gate.ts";
import { createToolListing } from "#api/tools/listing.ts";
import { createToolSearch } from "#api/tools/search.ts";
import { atLeast, atMost, formatTable, median, ms, quantile, type Row } from "../stats.ts";
import {
  addUp,
  DEFINITIONS,
  indexDefinitions,
  type Miss,
  readQuestions,
  SETS,
  score,
} from "./search-questions/score.ts";
import { insertTools, QUERIES } from "./tools-data.ts";

const TOOLS = 10_000;
const WARM_UP_ROUNDS = 2;
const ROUNDS = 10;
const MAX_P95_MS = 10;
const MIN_FIVE = 0.9;
const MIN_FIRST = 0.6;
/** Of the questions, also asked over all tools. */
const ASKED_OF = 4;

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

async function benchQuestions(): Promise<Row[]> {
  const indexed = await indexDefinitions(DEFINITIONS);
  const rows: Row[] = [];
  for (const set of SETS) {
    const isShown = set === "tuning" && process.argv.includes("--misses");
    const counts = score(indexed, readQuestions(set), isShown ? { onMiss: printMiss } : {});
    const all = addUp(counts.values());
    const named = `${set} questions (${all.asked})`;
    rows.push(
      atLeast(
        `${named}, right tool among the first five`,
        all.five / all.asked,
        MIN_FIVE,
        percent(all.five / all.asked),
      ),
      atLeast(`${named}, right tool first`, all.first / all.asked, MIN_FIRST, percent(all.first / all.asked)),
      atMost(`${named}, nothing found`, all.nothing, 0, String(all.nothing)),
      ...[...counts].map(([definition, own]) => ({
        measure: `  ${definition} (${own.asked}), first five / first`,
        value: `${percent(own.five / own.asked)} / ${percent(own.first / own.asked)}`,
      })),
    );
  }
  return rows;
}

function printMiss({ definition, question, answers, found }: Miss): void {
  console.log(`${definition}: ${question}\n    wanted ${answers.join(", ")}\n    found ${found.join(", ")}`);
}

async function benchTime(): Promise<Row[]> {
  const directory = await mkdtemp(path.join(tmpdir(), "cyrnel-bench-search-"));
  try {
    await using postgres = await startEmbeddedPostgres({
      directory: path.join(directory, "postgres"),
      durable: false,
    });
    await migrate(postgres.url);
    // A pool of its own: what a connection keeps of the rows it wrote would be freed while memory is measured.
    const filling = createPool(postgres.url, { maxConnections: 1 });
    await insertTools(filling, TOOLS).finally(() => filling.end({ timeout: 5 }));
    const pool = createPool(postgres.url, { maxConnections: 4 });
    try {
      const listing = createToolListing(pool, createToolSearch(pool), OPEN_GATE, () => null);
      const before = measureHeapMib();
      const start = performance.now();
      await listing.search("create issue", {}, { from: null, limit: 10 }, {});
      const loadMs = performance.now() - start;
      const heapMib = measureHeapMib() - before;
      const questions = readQuestions("tuning").filter((_, at) => at % ASKED_OF === 0);
      const queries = [...QUERIES, ...questions.map(({ question }) => question)];
      const samples: number[] = [];
      for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
        for (const query of queries) {
          const asked = performance.now();
          await listing.search(query, {}, { from: null, limit: 10 }, {});
          if (round >= WARM_UP_ROUNDS) samples.push(performance.now() - asked);
        }
      }
      const p95 = quantile(samples, 0.95);
      return [
        { measure: `first search over ${TOOLS} tools, which reads them`, value: ms(loadMs) },
        { measure: `memory of ${TOOLS} tools`, value: `${heapMib.toFixed(1)} MiB` },
        { measure: `search over ${TOOLS} tools, p50`, value: ms(median(samples)) },
        atMost(`search over ${TOOLS} tools, p95`, p95, MAX_P95_MS, ms(p95), " ms"),
      ];
    } finally {
      await pool.end({ timeout: 5 });
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function measureHeapMib(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}

const rows = [...(await benchQuestions()), ...(await benchTime())];
console.log(formatTable(rows));
if (rows.some(({ met }) => met === false)) process.exitCode = 1;
