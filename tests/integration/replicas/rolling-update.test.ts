/**
 * An update of two servers under load, as a Deployment does it: a new one is ready before an old one is told to stop.
 * Real processes; clients that behave: they ask whoever is ready, and ask again, with the same key, where they got no answer.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { TEST_KEY } from "../harness/http-app.ts";
import { type MainProcess, startMain } from "../harness/main-process.ts";
import { SECRETS_KEY } from "../services-server.ts";

const CLIENTS = 4;
/** Clients wait while so many have not ended: a slow machine would else be left with more than it can do. */
const MAX_UNENDED = 12;
const TEST_TIMEOUT_MS = 300_000;
const PATIENCE_MS = 60_000;
const HEADERS = { authorization: `Bearer ${TEST_KEY}`, "content-type": "application/json" };

interface Replica {
  main: MainProcess;
  url: string;
}

let database: TestDatabase;
let started: Replica[];
/** Whom a load balancer would ask. */
let ready: Replica[];
let probing: AbortController;
let probes: Promise<void>;

beforeEach(async () => {
  [started, ready, probing] = [[], [], new AbortController()];
  database = await createTestDatabase({ maxConnections: 5 });
  await Promise.all([startReplica(), startReplica()]);
  probes = probe();
  await until("both are ready", () => ready.length === 2);
});
afterEach(async () => {
  probing.abort();
  await probes;
  for (const { main } of started) if (main.child.exitCode === null) main.child.kill("SIGKILL");
  await Promise.all(started.map(({ main }) => main.ended()));
  await database?.drop();
});

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (Date.now() > deadline) {
      const said = started.map(({ main }) => main.stderr() + main.stdout().slice(-4000)).join("\n---\n");
      throw new Error(`waited in vain until ${what}:\n${said}`);
    }
    await sleep(50);
  }
}

async function countUnended(): Promise<number> {
  return (await database.pool`select 1 from processes where state <> 'idle'`).length;
}

async function startReplica(): Promise<Replica> {
  const main = startMain({
    environment: {
      DATABASE_URL: database.url,
      CYRNEL_API_KEY: TEST_KEY,
      CYRNEL_SECRETS_KEY: SECRETS_KEY,
      SHUTDOWN_TIMEOUT_MS: "20000",
    },
  });
  const replica = { main, url: "" };
  started.push(replica);
  replica.url = await main.listening();
  return replica;
}

async function probe(): Promise<void> {
  while (!probing.signal.aborted) {
    const answers = await Promise.all(
      started.map(async (replica) => {
        const answer = await fetch(`${replica.url}/health/ready`, { headers: HEADERS }).catch(() => null);
        await answer?.body?.cancel();
        return answer?.status === 200 ? replica : null;
      }),
    );
    ready = answers.filter((replica) => replica !== null);
    await sleep(100, undefined, { signal: probing.signal }).catch(() => {});
  }
}

/** Asks until one server has taken it; the id. */
async function submit(n: number, code: string): Promise<number> {
  const deadline = Date.now() + PATIENCE_MS;
  for (let attempt = 0; Date.now() < deadline; attempt += 1) {
    const replica = ready[(n + attempt) % Math.max(1, ready.length)];
    const answer = await fetch(`${replica?.url}/processes`, {
      method: "POST",
      headers: { ...HEADERS, "idempotency-key": `update-${n}` },
      body: JSON.stringify({ code }),
    }).catch(() => null);
    const text = await answer?.text().catch(() => null);
    if (answer?.status === 201 && text) return JSON.parse(text).id;
    if (answer && text && ![503, 429].includes(answer.status)) throw new Error(text);
    await sleep(50);
  }
  throw new Error(`nobody took process ${n}`);
}

test(
  "loses no run, interrupts none and runs none twice",
  async () => {
    let isOver = false;
    const ids: number[] = [];
    const clients = Array.from({ length: CLIENTS }, async (_, client) => {
      for (let count = 0; !isOver; count += 1) {
        const n = count * CLIENTS + client;
        await until("some have ended", async () => (await countUnended()) < MAX_UNENDED);
        // Some are quick, some still run when their server is told to stop.
        const waitMs = [0, 50, 200, 800][n % 4];
        const id = await submit(
          n,
          `await new Promise((resolve) => setTimeout(resolve, ${waitMs})); return ${n};`,
        );
        ids[n] = id;
        await sleep(200);
      }
    });
    const exits: (number | NodeJS.Signals)[] = [];
    for (const old of [...started]) {
      const fresh = await startReplica();
      await until("the new one is ready", () => ready.includes(fresh));
      old.main.child.kill("SIGTERM");
      exits.push(await old.main.ended());
    }
    isOver = true;
    await Promise.all(clients);
    await until("all have ended", async () => (await countUnended()) === 0);

    expect(exits).toEqual([0, 0]);
    const rows = await database.pool<{ id: number; reason: string; result: string }[]>`
    select p.id, p.reason, r.result::text as result from processes p join process_results r on r.process_id = p.id`;
    const results = new Map(rows.map(({ id, reason, result }) => [Number(id), [reason, result]]));
    expect(ids.length).toBeGreaterThan(CLIENTS * 4);
    const submitted = [...ids.entries()].filter(([, id]) => id !== undefined);
    expect(submitted.map(([n, id]) => [n, ...(results.get(id) ?? ["lost"])])).toEqual(
      submitted.map(([n]) => [n, "ok", String(n)]),
    );
    // Nothing that nobody asked for.
    expect(results.size).toBe(submitted.length);
    const [count] = await database.pool<{ count: number }[]>`select count(*)::int as count from processes`;
    expect(count?.count).toBe(submitted.length);
    // Each ended once, on one server.
    const ended = started
      .flatMap(({ main }) => main.stdout().split("\n"))
      .filter((line) => line.includes('"type":"run"'))
      .map((line) => JSON.parse(line).processId as number);
    expect(ended.sort((a, b) => a - b)).toEqual([...results.keys()].sort((a, b) => a - b));
    const byServer = started.map(({ main }) => main.stdout().split('"type":"run"').length - 1);
    // All four did their part.
    expect(Math.min(...byServer)).toBeGreaterThan(0);
  },
  TEST_TIMEOUT_MS,
);
