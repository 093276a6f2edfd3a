/**
 * `npm run trace:run`: which of our files and functions a run crosses on the server's thread, under V8's precise
 * coverage: a plain run, one with a tool call, one that is paused and approved. Counts only those that every one of
 * several runs crossed, which excludes timers, and excludes the pool's start of the next child. `--files` lists the
 * files, each with its functions.
 */
import { Session } from "node:inspector/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { installService, openInProcess, runScript, type Send } from "./in-process.ts";
import { formatTable } from "./stats.ts";

/** High enough that on a busy machine no timer fires in every round. */
const ROUNDS = 12;
const WARM_UPS = 3;
/** The pool replaces the used child in this time: a run that finds a ready child does not pay for its start. */
const REFILL_MS = 1000;
const ROOT = path.resolve(import.meta.dirname, "..");
const OURS = ["api", "runner", "kernel", "modules", "sdk"].map(
  (folder) => path.join(ROOT, folder) + path.sep,
);

/** On a busy machine the pool starts the next child while the run continues. */
const STARTS_CHILDREN =
  /^runner\/(?:jail\/|isolation\/|process\/(?!monitor)|pool\/zygote|child\/boot-options)|^modules\/typescript-process\//;

const PLAIN = 'console.log("hi"); return 42';
const CALLING = "return await tools.demo.listTasks({})";
const ASKING = 'return await tools.demo.addTask({ title: "traced" })';

/** Maps a file to the functions that were called, by their position in it. */
type Crossed = Map<string, Set<string>>;

/** Returns our functions that were called since the previous call. */
async function takeCrossed(session: Session): Promise<Crossed> {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const crossed: Crossed = new Map();
  for (const { url, functions } of result) {
    if (!url.startsWith("file:")) continue;
    const file = fileURLToPath(url);
    if (!OURS.some((folder) => file.startsWith(folder))) continue;
    const called = functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0);
    const places = called.map(({ functionName, ranges }) => `${functionName}@${ranges[0]?.startOffset}`);
    const relative = path.relative(ROOT, file);
    if (places.length > 0 && !STARTS_CHILDREN.test(relative)) crossed.set(relative, new Set(places));
  }
  return crossed;
}

function intersect(rounds: readonly Crossed[]): Crossed {
  const [first = new Map(), ...others] = rounds;
  const common: Crossed = new Map();
  for (const [file, places] of first) {
    const kept = [...places].filter((place) => others.every((other) => other.get(file)?.has(place)));
    if (kept.length > 0) common.set(file, new Set(kept));
  }
  return common;
}

const countFunctions = (crossed: Crossed) => [...crossed.values()].reduce((sum, { size }) => sum + size, 0);

/** The number of functions and their names; functions within one line have no name. */
function describe(places: ReadonlySet<string> = new Set()): string {
  const names = [...places].map((place) => place.split("@", 1)[0] || "(unnamed)");
  return `${places.size}: ${names.join(", ")}`;
}

/** Waits until the process is paused, approves it, and waits for its end. */
async function runApproved(send: Send): Promise<void> {
  const { id } = await send("POST", "/processes", { code: ASKING });
  let record = await send("GET", `/processes/${id}?wait=20000`);
  await send("POST", `/approvals/${record.approvals[0]}/approve`, {});
  while (record.state !== "idle") record = await send("GET", `/processes/${id}?wait=20000`);
  if (record.exitState !== "success") throw new Error(`a run ended ${record.reason}: ${record.error}`);
}

await using server = await openInProcess();
const { send } = server;
await installService(send, "demo", "demo", {});
await send("POST", "/policies", { servicePattern: "demo", toolPattern: "addTask", decision: "ask" });
const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
const trace = async (run: () => Promise<unknown>) => {
  for (let warmUp = 0; warmUp < WARM_UPS; warmUp++) await run();
  const rounds: Crossed[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await sleep(REFILL_MS);
    await takeCrossed(session);
    await run();
    rounds.push(await takeCrossed(session));
  }
  return intersect(rounds);
};
const trips = [
  { trip: "a run", crossed: await trace(() => runScript(send, PLAIN)) },
  { trip: "a run with a tool call", crossed: await trace(() => runScript(send, CALLING)) },
  { trip: "a run, paused and approved", crossed: await trace(() => runApproved(send)) },
];
session.disconnect();
const rows = trips.map(({ trip, crossed }) => ({
  measure: trip,
  value: `${crossed.size} files, ${countFunctions(crossed)} functions`,
}));
process.stdout.write(`${formatTable(rows)}\n`);
if (process.argv.includes("--files")) {
  for (const { trip, crossed } of trips) {
    process.stdout.write(`\n${trip}\n`);
    for (const file of [...crossed.keys()].sort())
      process.stdout.write(`  ${file} ${describe(crossed.get(file))}\n`);
  }
}
