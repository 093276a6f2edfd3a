/**
 * `npm run trace:run`: which files and functions of ours a run crosses on the server's thread, under V8's precise
 * coverage: a plain run, one with a tool call, one that is paused and approved. Counted is what every one of several
 * runs crossed, so no timer that happened to fire. `--files` lists the files, each with its functions.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import http from "node:http";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { parseConfig } from "#api/config.ts";
import { openDatabase } from "#api/db/database.ts";
import { openServer } from "#api/server.ts";
import { formatTable } from "./stats.ts";

const ROUNDS = 5;
const WARM_UPS = 3;
/** Until the child that was taken is replaced and idle: starting one is no part of a run that finds one. */
const REFILL_MS = 1000;
const ROOT = path.resolve(import.meta.dirname, "..");
const OURS = ["api", "runner", "modules", "sdk"].map((folder) => path.join(ROOT, folder) + path.sep);

const PLAIN = 'console.log("hi"); return 42';
const CALLING = "return await tools.demo.listTasks({})";
const ASKING = 'return await tools.demo.addTask({ title: "traced" })';

/** `file` -> functions that were called, by their place in the file. */
type Crossed = Map<string, Set<string>>;
// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
type Send = (method: string, route: string, body?: object) => Promise<any>;

async function withServer(work: (send: Send) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(path.join(tmpdir(), "cyrnel-trace-"));
  try {
    const parsed = parseConfig({
      CYRNEL_DATA_DIR: directory,
      PORT: "0",
      LOG_LEVEL: "silent",
      CYRNEL_SECRETS_KEY: randomBytes(32).toString("base64"),
    });
    if (!parsed.ok) throw new Error(parsed.problems.join("\n"));
    const { config } = parsed;
    await using database = await openDatabase(config, { onTakenOver: () => {} });
    await using server = await openServer(config, { database, logger: pino({ level: "silent" }) });
    const { port } = new URL(await server.listen());
    const agent = new http.Agent({ keepAlive: true });
    const send: Send = (method, route, body) =>
      new Promise((resolve, reject) => {
        const headers = body === undefined ? {} : { "content-type": "application/json" };
        const request = http.request({ port, method, path: route, headers, agent }, async (answer) => {
          let text = "";
          for await (const piece of answer.setEncoding("utf8")) text += piece;
          if ((answer.statusCode ?? 500) < 300) resolve(text === "" ? null : JSON.parse(text));
          else reject(new Error(`${method} ${route}: ${answer.statusCode} ${text}`));
        });
        request.on("error", reject).end(body && JSON.stringify(body));
      });
    await send("POST", "/services", { id: "demo", adapter: "demo", content: "{}" });
    await send("POST", "/services/demo/enabled", { enabled: true });
    await send("POST", "/policies", { servicePattern: "demo", toolPattern: "addTask", decision: "ask" });
    await work(send);
    agent.destroy();
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Everything of ours that was called since the last look. */
async function takeCrossed(session: Session): Promise<Crossed> {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const crossed: Crossed = new Map();
  for (const { url, functions } of result) {
    if (!url.startsWith("file:")) continue;
    const file = fileURLToPath(url);
    if (!OURS.some((folder) => file.startsWith(folder))) continue;
    const called = functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0);
    const places = called.map(({ functionName, ranges }) => `${functionName}@${ranges[0]?.startOffset}`);
    if (places.length > 0) crossed.set(path.relative(ROOT, file), new Set(places));
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

/** The number of functions and their names; those of a line of their own have none. */
function describe(places: ReadonlySet<string> = new Set()): string {
  const names = [...places].map((place) => place.split("@", 1)[0] || "(unnamed)");
  return `${places.size}: ${names.join(", ")}`;
}

async function runToEnd(send: Send, code: string): Promise<void> {
  const record = await send("POST", "/processes", { code, block: true });
  if (record.exitState !== "success") throw new Error(`a run ended ${record.reason}: ${record.error}`);
}

/** Until the process is paused, its decision, and until its end. */
async function runApproved(send: Send): Promise<void> {
  const { id } = await send("POST", "/processes", { code: ASKING });
  let record = await send("GET", `/processes/${id}?wait=20000`);
  await send("POST", `/approvals/${record.approvals[0]}/approve`, {});
  while (record.state !== "idle") record = await send("GET", `/processes/${id}?wait=20000`);
  if (record.exitState !== "success") throw new Error(`a run ended ${record.reason}: ${record.error}`);
}

await withServer(async (send) => {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  const trace = async (run: () => Promise<void>) => {
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
    { trip: "a run", crossed: await trace(() => runToEnd(send, PLAIN)) },
    { trip: "a run with a tool call", crossed: await trace(() => runToEnd(send, CALLING)) },
    { trip: "a run, paused and approved", crossed: await trace(() => runApproved(send)) },
  ];
  session.disconnect();
  const rows = trips.map(({ trip, crossed }) => ({
    measure: trip,
    value: `${crossed.size} files, ${countFunctions(crossed)} functions`,
  }));
  process.stdout.write(`${formatTable(rows)}\n`);
  if (!process.argv.includes("--files")) return;
  for (const { trip, crossed } of trips) {
    process.stdout.write(`\n${trip}\n`);
    for (const file of [...crossed.keys()].sort())
      process.stdout.write(`  ${file} ${describe(crossed.get(file))}\n`);
  }
});
