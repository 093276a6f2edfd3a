/**
 * `npm run bench -- growth`: the statements behind list, get, enqueue, claim, search and retention with 1 k, 100 k and 1 M
 * processes and 10,000 tools: their plans and p95, sizes measured in turns, call by call. Exit code 1 if enqueue or claim
 * is slower at the largest size than allowed, or a growing table is read from end to end. Options: --sizes 1000,100000
 * --rounds 200 --directory D (keeps the data there, and uses it again).
 */
import { parseArgs } from "node:util";
import { type FilledDatabase, openDatabases } from "./databases.ts";
import type { Operation } from "./operation.ts";
import { createOperations } from "./operations.ts";
import { createExplainer } from "./plans.ts";
import {
  formatPlans,
  formatTimes,
  listSequential,
  MAX_RATIO,
  type OperationResult,
  ratioOf,
} from "./report.ts";

/** Plans and pages of each connection are cached by then. */
const WARM_UP_ROUNDS = 10;
const SELDOM_EVERY = 4;

const { values } = parseArgs({
  options: {
    sizes: { type: "string", default: "1000,100000,1000000" },
    rounds: { type: "string", default: "200" },
    directory: { type: "string" },
  },
});
const sizes = values.sizes.split(",").map(Number);
const rounds = Number(values.rounds);
if (!sizes.every((size) => Number.isInteger(size) && size >= 1000) || !(rounds >= 1)) {
  throw new Error("--sizes takes whole numbers of at least 1000, --rounds one of at least 1");
}

async function time(operation: Operation): Promise<number> {
  const given = await operation.before?.();
  const start = performance.now();
  const answer = await operation.run(given);
  const elapsed = performance.now() - start;
  await operation.after?.(answer as never);
  return elapsed;
}

async function explainAll({ url, size }: FilledDatabase) {
  await using explainer = await createExplainer(url);
  const plans = [];
  for (const operation of createOperations(explainer.pool, size))
    plans.push(await explainer.explain(operation));
  return plans;
}

async function measure(databases: readonly FilledDatabase[]): Promise<OperationResult[]> {
  const bySize = databases.map(({ pool, size }) => createOperations(pool, size));
  const results = (bySize[0] ?? []).map(
    ({ name, isBound = false }): OperationResult => ({ name, isBound, sizes: [] }),
  );
  for (const database of databases) {
    const plans = await explainAll(database);
    for (const [at, plan] of plans.entries())
      results[at]?.sizes.push({ size: database.size, samples: [], plan });
  }
  for (let round = 0; round < WARM_UP_ROUNDS + rounds; round += 1) {
    for (const [at, result] of results.entries()) {
      // Another one is first each time: the first call after a pause pays for it.
      for (let turn = 0; turn < databases.length; turn += 1) {
        const which = (round + turn) % databases.length;
        const operation = bySize[which]?.[at] as Operation;
        if (operation.isSeldom && round % SELDOM_EVERY !== 0) continue;
        const elapsed = await time(operation);
        if (round >= WARM_UP_ROUNDS) result.sizes[which]?.samples.push(elapsed);
      }
    }
  }
  return results;
}

await using opened = await openDatabases(sizes, values.directory ?? null);
const results = await measure(opened.databases);
const sequential = listSequential(results);
console.log(`${formatTimes(results)}\n\n${formatPlans(results)}`);
if (sequential.length > 0) console.log(`\nRead from end to end:\n${sequential.join("\n")}`);
const isSlow = results.some((result) => result.isBound && ratioOf(result) > MAX_RATIO);
process.exitCode = isSlow || sequential.length > 0 ? 1 : 0;
