/**
 * What reading a large description costs: `npm run bench -- openapi-install [file]`, without an argument GitHub's. Prints
 * time, size of the definition, and peak memory of the process before and after.
 */
import { readFileSync } from "node:fs";
import { largeDocument } from "#tests/contract/adapters/openapi/documents.ts";
import { startAdapter } from "#tests/contract/adapters/openapi/exercise.ts";

const [file] = process.argv.slice(2);
const text = file === undefined ? largeDocument("github.json").text() : readFileSync(file, "utf8");

await using adapter = await startAdapter();
const peakMib = () => Math.round(process.resourceUsage().maxRSS / 1024);
const before = peakMib();
let longestPauseMs = 0;
let last = performance.now();
const ticking = setInterval(() => {
  longestPauseMs = Math.max(longestPauseMs, performance.now() - last - 10);
  last = performance.now();
}, 10);
const startedAt = performance.now();
const definition = await adapter.generateDefinition(text);
const tookMs = Math.round(performance.now() - startedAt);
clearInterval(ticking);
console.log({
  documentKib: Math.round(text.length / 1024),
  tools: definition.tools.length,
  definitionKib: Math.round(JSON.stringify(definition).length / 1024),
  tookMs,
  longestPauseMs: Math.round(longestPauseMs),
  peakMib: { before, after: peakMib() },
});
