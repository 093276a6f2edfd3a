/** Two servers whose connections to the database are reset under load, again and again: nothing stands still for good. */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type DatabaseProxy, startDatabaseProxy } from "../harness/database-proxy.ts";
import {
  type DataDirectory,
  type MainProcess,
  makeDataDirectory,
  startMain,
} from "../harness/main-process.ts";

const RESETS = 24;
const PAUSE_MS = 250;
/** Between two processes submitted to a server: more than both can run on two processors, so that a queue grows. */
const SUBMIT_MS = 40;
/** Any statement is given up before; what waits for it goes on then. */
const SETTLED_MS = 60_000;
const CODE = "await new Promise((resolve) => setTimeout(resolve, 20)); return 42;";

let database: TestDatabase;
let proxy: DatabaseProxy;
let data: DataDirectory;
let servers: MainProcess[];
let urls: string[];
beforeEach(async () => {
  database = await createTestDatabase();
  proxy = await startDatabaseProxy(database.url);
  data = await makeDataDirectory();
  const environment = {
    DATABASE_URL: proxy.url,
    CYRNEL_DATA_DIR: data.path,
    CYRNEL_SECRETS_KEY: randomBytes(32).toString("base64"),
    SHUTDOWN_TIMEOUT_MS: "2000",
  };
  servers = [startMain({ environment }), startMain({ environment })];
  urls = await Promise.all(servers.map((server) => server.listening()));
}, 90_000);
afterEach(async () => {
  for (const { child } of servers) child.kill("SIGKILL");
  await Promise.all(servers.map((server) => server.ended()));
  await proxy[Symbol.asyncDispose]();
  await data[Symbol.asyncDispose]();
  await database.drop();
});

async function post(url: string, body: object): Promise<{ status: number; exitState?: string }> {
  const answer = await fetch(`${url}/processes`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { ...((await answer.json()) as object), status: answer.status };
}
const readStatus = async (url: string) => (await fetch(`${url}/health/ready`)).status;
async function countQueued(): Promise<number> {
  const [row] = await database.pool<{ count: number }[]>`
    select count(*)::int as count from processes where state = 'queued'`;
  return row?.count ?? -1;
}

test("the queue drains, blocking requests answer, readiness is honest, and both servers stop when told to", async () => {
  const answered: Promise<number>[] = [];
  const blocking: Promise<number>[] = [];
  let isStorm = true;
  const load = urls.map(async (url) => {
    while (isStorm) {
      answered.push(post(url, { code: CODE }).then(({ status }) => status));
      if (blocking.length < 40)
        blocking.push(post(url, { code: CODE, block: true }).then(({ status }) => status));
      await sleep(SUBMIT_MS);
    }
  });
  let resets = 0;
  for (let time = 0; time < RESETS; time++) {
    await sleep(PAUSE_MS);
    resets += proxy.reset(1 + (time % 3));
    if (time % 6 === 5) void proxy.strike(/claim_queued/, { kind: "drop" });
    if (time % 6 === 2) void proxy.strike(/^commit/i, { kind: "reset" });
  }
  isStorm = false;
  proxy.calm();
  await Promise.all(load);
  expect(resets).toBeGreaterThan(RESETS);

  const statuses = await Promise.all([...answered, ...blocking]);
  // Created, or told to come again: 429 and 503; never an error of ours.
  expect(statuses.filter((status) => ![201, 429, 503].includes(status))).toEqual([]);
  expect(statuses).toContain(201);
  await expect.poll(countQueued, { timeout: SETTLED_MS, interval: 250 }).toBe(0);
  for (const url of urls) {
    await expect.poll(() => readStatus(url), { timeout: SETTLED_MS, interval: 250 }).toBe(200);
    expect(await post(url, { code: CODE, block: true })).toMatchObject({ status: 201, exitState: "success" });
  }
  // Nothing passes any more, on connections that stay open: they say so, and until it passes again.
  proxy.hang(true);
  for (const url of urls) await expect.poll(() => readStatus(url), { timeout: SETTLED_MS }).toBe(503);
  proxy.hang(false);
  for (const url of urls) await expect.poll(() => readStatus(url), { timeout: SETTLED_MS }).toBe(200);

  for (const { child } of servers) child.kill("SIGTERM");
  expect(await Promise.all(servers.map((server) => server.ended()))).toEqual([0, 0]);
}, 300_000);
