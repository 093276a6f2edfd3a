/** What a run had left when its server died: kept as far as it had reached the database, which is at least every 2 s. */

import { afterEach, beforeEach, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import { type MainProcess, startMain } from "./harness/main-process.ts";
import { createTools } from "./harness/tools.ts";
import {
  type ProcessesServer,
  type ProcessesServerOptions,
  read,
  runScript,
  send,
  startProcessesServer,
  submit,
  until,
} from "./processes-server.ts";

let database: TestDatabase;
const running: ProcessesServer[] = [];
const mains: MainProcess[] = [];
beforeEach(async () => {
  database = await createTestDatabase({ maxConnections: 4 });
});
afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
  for (const { child } of mains) child.kill("SIGKILL");
  await Promise.all(mains.splice(0).map((main) => main.ended()));
  await database.drop();
});

async function start(options: Partial<ProcessesServerOptions> = {}): Promise<ProcessesServer> {
  const server = await startProcessesServer({ databaseUrl: database.url, ...options });
  running.push(server);
  return server;
}

/** A server that disappears: it neither drains nor writes anything any more. */
async function vanish(server: ProcessesServer): Promise<void> {
  running.splice(running.indexOf(server), 1);
  await server.app.close();
  await server.pool.end({ timeout: 0 });
}

async function readParts(id: number) {
  return database.pool<{ text: string; calls: string }[]>`
    select convert_from(stdout, 'UTF8') as text, calls::text as calls from run_progress where process_id = ${id} order by part`;
}

const stored = (id: number, what: string) =>
  until(`${what} of ${id} is stored`, async () => {
    const parts = await readParts(id);
    return parts.some(({ text, calls }) => `${text}${calls}`.includes(what)) && parts;
  });

test("streams, output, calls and usage of an interrupted run; an ended one leaves no parts", async () => {
  const first = await start({ slots: 4 });
  const odd = JSON.stringify({ "\0 \ud800": 1, plain: "a" });
  const id = await submit(
    first,
    `print one\nlevel debug detail\nwarn odd\noutput ${odd}\ncall s t {}\ngate next\nprint two\nlevel debug more\noutput {"plain":"b"}\ncall s u {}\nhang`,
  );
  const killed = await submit(first, "print three\ndeaf\nhang");
  await stored(id, "one");
  first.environment.open("next");
  await stored(id, "two");
  await stored(killed, "three");
  await send(first, "POST", `/processes/${killed}/signals/kill`);
  const shown = await read(first, id);
  await vanish(first);

  const second = await start();
  const record = await read(second, id);
  expect(record).toMatchObject({
    exitState: "failed",
    reason: "interrupted",
    stdout: shown.stdout,
    stderr: "odd\n",
    output: shown.output,
    usage: { toolCalls: 2 },
  });
  expect(record.stdout).toMatch(/^one\ndetail\n.*two\nmore\n/s);
  const [{ levels } = {}] = await database.pool<{ levels?: Record<string, [number, number, string][]> }[]>`
    select levels from process_results where process_id = ${id}`;
  const leveled = levels?.stdout?.map(([from, to, level]) => [level, record.stdout.slice(from, to)]);
  expect(leveled).toEqual([
    ["debug", "detail\n"],
    ["debug", "more\n"],
  ]);
  expect(record.usage.wallMs).toBeGreaterThan(0);
  const { body } = await send<{ calls: { toolId: string; status: string }[] }>(
    second,
    "GET",
    `/processes/${id}/calls`,
  );
  expect(body.calls.map(({ toolId, status }) => [toolId, status])).toEqual([
    ["t", "error"],
    ["u", "error"],
  ]);
  expect(await read(second, killed)).toMatchObject({
    exitState: "canceled",
    reason: "killed",
    stdout: "three\n",
  });

  const restarted = await send<{ id: number }>(second, "POST", `/processes/${id}/signals/run`, {
    force: true,
  });
  expect(restarted.status).toBe(200);
  second.environment.open("next");
  await stored(id, "two");
  await send(second, "POST", `/processes/${id}/signals/kill`);
  expect(await read(second, id, "?wait=10000")).toMatchObject({ reason: "killed", stdout: shown.stdout });
  expect(await database.pool`select from run_progress`).toHaveLength(0);
}, 90_000);

test("parts are only added: what was stored is not written again, and short or silent runs write none", async () => {
  const server = await start({ slots: 4 });
  const silent = await submit(server, "hang");
  const id = await submit(server, "flood stdout 300000\ngate next\nprint more\nhang");
  await stored(id, "xxx");
  server.environment.open("next");
  await stored(id, "more");
  expect((await readParts(id)).map(({ text }) => text.length)).toEqual([300_000, 5]);
  expect(await readParts(silent)).toEqual([]);
  const short = await runScript(server, "print short");
  expect(await readParts(short.id)).toEqual([]);
  for (const one of [silent, id]) await send(server, "POST", `/processes/${one}/signals/kill`);
  expect((await read(server, id, "?wait=10000")).stdout).toHaveLength(300_005);
}, 60_000);

test("a call under way when its server is killed has status unknown", async () => {
  const first = await start({
    tools: createTools(() => new Promise(() => {})),
  });
  const id = await submit(first, "print calls\ncall s slow {}");
  await stored(id, "slow");
  await vanish(first);
  const second = await start();
  await read(second, id);
  const { body } = await send<{ calls: object[] }>(second, "GET", `/processes/${id}/calls`);
  expect(body.calls).toMatchObject([
    { toolId: "slow", status: "unknown", error: expect.stringContaining("under way") },
  ]);
}, 60_000);

test("a server that is killed with SIGKILL: what its run had printed and emitted is in the record", async () => {
  const boot = async () => {
    const main = startMain({ environment: { DATABASE_URL: database.url } });
    mains.push(main);
    return { main, url: await main.listening() };
  };
  const { main, url } = await boot();
  const code = `
    for (let n = 0; ; n++) {
      console.log("line " + n);
      cyrnel.output({ n });
      await new Promise((resolve) => setTimeout(resolve, 100));
    }`;
  const answer = await fetch(`${url}/processes`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
  const { id } = (await answer.json()) as { id: number };
  const look = async (at: string) =>
    (await (await fetch(`${at}/processes/${id}`)).json()) as { stdout: string };
  const lines = async () => (await look(url)).stdout;
  await until("it has printed", async () => (await lines()).includes("line 3"));
  const printed = await lines();
  await until("a part with it is stored", async () => {
    const parts = await readParts(id);
    return parts.map(({ text }) => text).join("").length >= printed.length;
  });
  main.child.kill("SIGKILL");
  await main.ended();
  const next = await boot();
  const record = await until("it is over", async () => {
    const now = (await look(next.url)) as Record<string, unknown> & { stdout: string; output: { n: number } };
    return now.state === "idle" && now;
  });
  expect(record).toMatchObject({ exitState: "failed", reason: "interrupted" });
  expect(record.stdout.startsWith(printed)).toBe(true);
  expect(record.output.n).toBeGreaterThanOrEqual(3);
}, 180_000);
