/**
 * `npm run bench -- readiness`: how long after each change that makes a server ready, or not, `GET /health/ready` says so, on
 * two servers as `npm start` starts them, asked without a pause. Ends with exit code 1 where that takes more than a second.
 * Option: --times 3.
 */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { atMost, formatTable, quantile, type Row } from "../stats.ts";
import { type Cluster, type Replica, startCluster } from "./cluster.ts";
import { request } from "./load.ts";

const MAX_MS = 1000;
const ASK_EVERY_MS = 10;
const GIVE_UP_MS = 60_000;
/** Longer than a lease. */
const FROZEN_MS = 22_000;
const NEWER = "9999_of_a_newer_program";

interface Change {
  name: string;
  /** What the answer has to name; null: it has to be 200. */
  failing: string | null;
  make(): Promise<unknown>;
  /** From which moment it counts. Default: from the beginning of `make`. */
  since?: "made";
}

const { values } = parseArgs({ options: { times: { type: "string", default: "3" } } });
const times = Number(values.times);

async function readFailing({ url }: Replica): Promise<string[] | null> {
  const answer = await request(url, "GET", "/health/ready", { timeoutMs: 5000 }).catch(() => null);
  if (answer === null) return null;
  if (answer.status === 200) return [];
  return (JSON.parse(answer.text) as { failing: { check: string }[] }).failing.map(({ check }) => check);
}

/** Milliseconds until each of the servers says it. */
async function measure(servers: readonly Replica[], change: Change): Promise<number[]> {
  const watch = async (server: Replica, start: () => number) => {
    for (;;) {
      const failing = await readFailing(server);
      const isTold = change.failing === null ? failing?.length === 0 : failing?.includes(change.failing);
      if (isTold) return Math.max(0, performance.now() - start());
      if (performance.now() - start() > GIVE_UP_MS) throw new Error(`${change.name}: never told`);
      await sleep(ASK_EVERY_MS);
    }
  };
  let startMs = performance.now();
  if (change.since === "made") {
    await change.make();
    startMs = performance.now();
    return Promise.all(servers.map((server) => watch(server, () => startMs)));
  }
  const watching = Promise.all(servers.map((server) => watch(server, () => startMs)));
  startMs = performance.now();
  await change.make();
  return watching;
}

/** The postmaster and all its children. */
async function listPostgres({ directory }: Cluster): Promise<number[]> {
  const file = await readFile(path.join(directory, "postgres/data/postmaster.pid"), "utf8");
  const postmaster = Number(file.split("\n")[0]);
  const children = await readFile(`/proc/${postmaster}/task/${postmaster}/children`, "utf8");
  return [postmaster, ...children.trim().split(" ").map(Number)];
}

async function signalPostgres(cluster: Cluster, signal: NodeJS.Signals): Promise<void> {
  for (const pid of await listPostgres(cluster)) process.kill(pid, signal);
}

function enable({ url }: Replica, enabled: boolean): Promise<unknown> {
  return request(url, "POST", "/modules/typescript-process/enabled", {
    body: { enabled },
    timeoutMs: 30_000,
  });
}

const figures = new Map<string, number[]>();
async function note(servers: readonly Replica[], change: Change): Promise<void> {
  const took = await measure(servers, change);
  figures.set(change.name, [...(figures.get(change.name) ?? []), ...took]);
  process.stderr.write(`${change.name}: ${took.map((ms) => ms.toFixed(0)).join(", ")} ms\n`);
}

await using cluster = await startCluster({ replicas: 2 });
const [first, second] = cluster.replicas as [Replica, Replica];
const both = [first, second];

for (let time = 0; time < times; time += 1) {
  // They end while there is nowhere to store them: a server is ready when it has.
  for (const { url } of both) {
    const code = "await new Promise((done) => setTimeout(done, 1000))";
    await request(url, "POST", "/processes", { body: { code } });
  }
  await sleep(200);
  await note(both, {
    name: "Postgres stops",
    failing: "database",
    make: cluster.stopPostgres,
  });
  await sleep(2000);
  await note(both, { name: "Postgres is back", failing: null, make: cluster.startPostgres, since: "made" });
  await note(both, {
    name: "Postgres hangs",
    failing: "database",
    make: () => signalPostgres(cluster, "SIGSTOP"),
  });
  await sleep(4000);
  await note(both, {
    name: "Postgres goes on",
    failing: null,
    make: () => signalPostgres(cluster, "SIGCONT"),
  });
  await note(both, {
    name: "a newer program has changed the schema",
    failing: "migrations",
    make: () => cluster.pool`insert into schema_migrations (name, run_on) values (${NEWER}, now())`,
  });
  await note(both, {
    name: "the schema is as it has to be again",
    failing: null,
    make: () => cluster.pool`delete from schema_migrations where name = ${NEWER}`,
  });
  // On this server it begins with the request; the other one is told by the database.
  await note(both, {
    name: "the environment is disabled",
    failing: "environment",
    make: () => enable(first, false),
    since: "made",
  });
  await note(both, {
    name: "an environment is enabled",
    failing: null,
    make: () => enable(first, true),
    since: "made",
  });
}

second.child.kill("SIGSTOP");
await sleep(FROZEN_MS);
await note([second], {
  name: "a server that was given up goes on",
  failing: null,
  make: async () => second.child.kill("SIGCONT"),
});
for (const server of both) {
  const code = "await new Promise((done) => setTimeout(done, 3000))";
  await request(server.url, "POST", "/processes", { body: { code } });
  await sleep(500);
  await note([server], {
    name: "SIGTERM, with a run under way",
    failing: "draining",
    make: async () => server.child.kill("SIGTERM"),
  });
}

const rows: Row[] = [...figures].map(([name, took]) =>
  atMost(
    name,
    Math.max(...took),
    MAX_MS,
    `p50 ${quantile(took, 0.5).toFixed(0)}, max ${Math.max(...took).toFixed(0)} ms`,
    " ms",
  ),
);
console.log(formatTable(rows));
process.exitCode = rows.some(({ met }) => met === false) ? 1 : 0;
