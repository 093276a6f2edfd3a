/**
 * Search over 10,000 tools in a Postgres of its own: time of a ranked page, words corrected, over queries as agents
 * write them. Prints p50 and p95 over all and the median of each. Run: node bench/search.ts
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { startEmbeddedPostgres } from "#api/db/embedded.ts";
import { migrate } from "#api/db/migrate.ts";
import { createPool } from "#api/db/pool.ts";
import { OPEN_GATE } from "#api/tools/gate.ts";
import { createToolListing } from "#api/tools/listing.ts";
import { createToolSearch } from "#api/tools/search/search.ts";
import { atMost, formatTable, median, ms, quantile, type Row } from "./stats.ts";
import { insertTools, QUERIES } from "./tools-data.ts";

const TOOLS = 10_000;
const WARM_UP_ROUNDS = 6;
const ROUNDS = 30;
const MAX_P95_MS = 10;

const directory = await mkdtemp(path.join(tmpdir(), "cyrnel-bench-search-"));
try {
  await using postgres = await startEmbeddedPostgres({
    directory: path.join(directory, "postgres"),
    durable: false,
  });
  await migrate(postgres.url);
  const pool = createPool(postgres.url, { maxConnections: 4 });
  try {
    await insertTools(pool, TOOLS);
    const listing = createToolListing(pool, createToolSearch(pool), OPEN_GATE, () => null);
    const byQuery = new Map<string, number[]>(QUERIES.map((query) => [query, []]));
    const found = new Map<string, number>();
    for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
      for (const query of QUERIES) {
        const start = performance.now();
        const { tools } = await listing.search(query, {}, { after: null, limit: 50 }, {});
        if (round >= WARM_UP_ROUNDS) byQuery.get(query)?.push(performance.now() - start);
        found.set(query, tools.length);
      }
    }
    const all = [...byQuery.values()].flat();
    const p95 = quantile(all, 0.95);
    const rows: Row[] = [
      { measure: `search over ${TOOLS} tools, p50`, value: ms(median(all)) },
      atMost(`search over ${TOOLS} tools, p95`, p95, MAX_P95_MS, ms(p95), " ms"),
      ...[...byQuery].map(([query, samples]) => ({
        measure: `"${query}" (${found.get(query)} found), p50`,
        value: ms(median(samples)),
      })),
    ];
    console.log(formatTable(rows));
    if (p95 > MAX_P95_MS) process.exitCode = 1;
  } finally {
    await pool.end({ timeout: 5 });
  }
} finally {
  await rm(directory, { recursive: true, force: true });
}
