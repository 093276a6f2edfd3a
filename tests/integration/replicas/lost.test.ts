/** Real servers, each a process of its own, that end without a word, or fall silent and come back. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { TEST_KEY } from "../harness/http-app.ts";
import { type MainProcess, startMain } from "../harness/main-process.ts";
import { until } from "../processes-server.ts";

const HEADERS = { authorization: `Bearer ${TEST_KEY}`, "content-type": "application/json" };
const LONG = "await new Promise((resolve) => setTimeout(resolve, 25_000)); return 1;";

interface Server {
  main: MainProcess;
  url: string;
}

let database: TestDatabase;
const servers: Server[] = [];

async function start(environment: Record<string, string> = {}): Promise<Server> {
  const main = startMain({
    environment: { DATABASE_URL: database.url, CYRNEL_API_KEY: TEST_KEY, ...environment },
  });
  const server = { main, url: "" };
  servers.push(server);
  server.url = await main.listening();
  return server;
}

beforeAll(async () => {
  database = await createTestDatabase({ maxConnections: 4 });
  await Promise.all([start(), start(), start()]);
});
afterAll(async () => {
  for (const { main } of servers) if (main.child.exitCode === null) main.child.kill("SIGKILL");
  await Promise.all(servers.map(({ main }) => main.ended()));
  await database?.drop();
});

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
async function ask(server: Server, method: string, path: string, json?: unknown): Promise<any> {
  const body = json === undefined ? {} : { body: JSON.stringify(json) };
  const answer = await fetch(server.url + path, { method, headers: HEADERS, ...body });
  return answer.json();
}

const submit = async (server: Server) =>
  (await ask(server, "POST", "/processes", { code: LONG })).id as number;

test("a run of a server that was killed ends as interrupted, and who waits for it elsewhere is told", async () => {
  const [victim, , witness] = servers as [Server, Server, Server];
  const id = await submit(victim);
  const waiting = ask(witness, "GET", `/processes/${id}?wait=30000`);
  victim.main.child.kill("SIGKILL");
  expect(await waiting).toMatchObject({ state: "idle", exitState: "failed", reason: "interrupted" });
  const after = await ask(witness, "POST", "/processes", { code: "return 2", block: true });
  expect(after).toMatchObject({ exitState: "success", result: 2 });
});

test("a server that was frozen past its time finds its run gone: one result, and its child is ended", async () => {
  const [, frozen, witness] = servers as [Server, Server, Server];
  const id = await submit(frozen);
  await until("it runs", async () => (await ask(frozen, "GET", "/environment")).capacity.busy === 1);
  frozen.main.child.kill("SIGSTOP");
  // What 21 seconds of silence look like.
  await database.pool`update replicas set seen_at = now() - interval '21 s' where address = ${frozen.url}`;
  await database.pool`update replica_watch set heard_since = now() - interval '1 minute'`;
  const ended = await ask(witness, "GET", `/processes/${id}?wait=30000`);
  expect(ended).toMatchObject({ exitState: "failed", reason: "interrupted" });
  frozen.main.child.kill("SIGCONT");
  await until(
    "its child is ended",
    async () => (await ask(frozen, "GET", "/environment")).capacity.busy === 0,
  );
  expect(await ask(frozen, "GET", `/processes/${id}?wait=10000`)).toEqual(ended);
  expect(await ask(frozen, "POST", "/processes", { code: "return 3", block: true })).toMatchObject({
    result: 3,
  });
});

test("a server whose program is older than the database does not start, and says which is which", async () => {
  await database.pool`insert into schema_migrations (name, run_on) values ('9999_from_the_future', now())`;
  const old = startMain({ environment: { DATABASE_URL: database.url, CYRNEL_API_KEY: TEST_KEY } });
  expect(await old.ended()).toBe(78);
  expect(old.stderr()).toMatch(/9999_from_the_future, this program knows up to \d{4}_/);
  // Those that run go on.
  const running = servers[2] as Server;
  expect(await ask(running, "POST", "/processes", { code: "return 4", block: true })).toMatchObject({
    result: 4,
  });
  await database.pool`delete from schema_migrations where name = '9999_from_the_future'`;
});

test("a database that is read-only is refused as a wrong configuration", async () => {
  const readOnly = new URL(database.url);
  readOnly.searchParams.set("options", "-c default_transaction_read_only=on");
  const main = startMain({ environment: { DATABASE_URL: readOnly.href, CYRNEL_API_KEY: TEST_KEY } });
  expect(await main.ended()).toBe(78);
  expect(main.stderr()).toContain("read-only");
});
