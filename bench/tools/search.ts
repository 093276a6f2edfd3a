/**
 * `npm run bench -- search [--misses]`: how often questions in everyday words find the right tool among the tools of
 * real definitions. `--misses` lists the missed questions of the set `tuning`; the other two sets print totals only,
 * so that nobody tunes on them.
 */
import {
  addUp,
  DEFINITIONS,
  indexDefinitions,
  type Miss,
  readQuestions,
  SETS,
  score,
} from "#tests/unit/search-questions/score.ts";
import { atLeast, atMost, formatTable, median, ms, quantile, type Row } from "../stats.ts";

const MIN_FIVE = 0.9;
const MIN_FIRST = 0.6;
const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

function printMiss({ definition, question, answers, found }: Miss): void {
  console.log(`${definition}: ${question}\n    wanted ${answers.join(", ")}\n    found ${found.join(", ")}`);
}

const indexed = await indexDefinitions(DEFINITIONS);
const times: number[] = [];
const rows: Row[] = [];
for (const set of SETS) {
  const isShown = set === "tuning" && process.argv.includes("--misses");
  const counts = score(indexed, readQuestions(set), { times, ...(isShown && { onMiss: printMiss }) });
  const all = addUp(counts.values());
  const [five, first] = [all.five / all.asked, all.first / all.asked];
  const named = `${set} questions (${all.asked})`;
  rows.push(
    atLeast(`${named}, right tool among the first five`, five, MIN_FIVE, percent(five)),
    atLeast(`${named}, right tool first`, first, MIN_FIRST, percent(first)),
    atMost(`${named}, nothing found`, all.nothing, 0, String(all.nothing)),
    ...[...counts].map(([definition, own]) => ({
      measure: `  ${definition} (${own.asked}), first five / first`,
      value: `${percent(own.five / own.asked)} / ${percent(own.first / own.asked)}`,
    })),
  );
}
rows.push({ measure: "a search, p50, p95", value: `${ms(median(times))}, ${ms(quantile(times, 0.95))}` });
console.log(formatTable(rows));
if (rows.some(({ met }) => met === false)) process.exitCode = 1;
