/**
 * A server that is told to stop while requests still come: over connections that are open, over new ones, and before any load
 * balancer has noticed. Real processes; the clients do not try again.
 */
import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { TEST_KEY } from "../harness/http-app.ts";
import { type MainProcess, startMain } from "../harness/main-process.ts";
import { SECRETS_KEY } from "../services-server.ts";
import { startToolsServer } from "../tools-server.ts";

const DELAY_MS = 8000;

let database: TestDatabase;
const started: MainProcess[] = [];

beforeEach(async () => {
  database = await createTestDatabase({ maxConnections: 5 });
});
afterEach(async () => {
  for (const { child } of started) if (child.exitCode === null) child.kill("SIGKILL");
  await Promise.all(started.splice(0).map((main) => main.ended()));
  await database?.drop();
});

async function start(): Promise<{ main: MainProcess; url: string }> {
  const main = startMain({
    environment: {
      DATABASE_URL: database.url,
      CYRNEL_API_KEY: TEST_KEY,
      CYRNEL_SECRETS_KEY: SECRETS_KEY,
      CYRNEL_SHUTDOWN_DELAY_MS: String(DELAY_MS),
      SHUTDOWN_TIMEOUT_MS: "90000",
    },
  });
  started.push(main);
  const url = await main.listening();
  await expect.poll(() => statusOf(`${url}/health/ready`), { timeout: 30_000 }).toBe(200);
  return { main, url };
}

const statusOf = async (url: string): Promise<number> => {
  const answer = await fetch(url);
  await answer.body?.cancel();
  return answer.status;
};

interface Reply {
  status: number;
  connection: string | undefined;
  retryAfter: string | undefined;
  isReused: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any;
}

/** Over a connection of the agent; rejects where there is no answer. */
function ask(agent: Agent, url: string, method: string, path: string, json?: unknown): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${TEST_KEY}`, "content-type": "application/json" };
    const sent = request(url + path, { agent, method, headers }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part) => {
        text += part;
      });
      answer.on("error", reject);
      answer.on("end", () =>
        resolve({
          status: answer.statusCode ?? 0,
          connection: answer.headers.connection,
          retryAfter: answer.headers["retry-after"],
          isReused: sent.reusedSocket,
          body: JSON.parse(text),
        }),
      );
    });
    sent.on("error", reject);
    sent.end(json === undefined ? undefined : JSON.stringify(json));
  });
}

const open = () => new Agent({ keepAlive: true });
/** Runs until it is killed. */
const ENDLESS = {
  code: "await new Promise(() => setInterval(() => {}, 1000))",
  options: { timeout: null },
  block: true,
};
const pause = (ms: number, value: string) =>
  `await new Promise((resolve) => setTimeout(resolve, ${ms})); return "${value}";`;
/** Ids of the runs that ended on a server, by its log. */
const endedOn = (main: MainProcess) =>
  main
    .stdout()
    .split("\n")
    .filter((line) => line.includes('"type":"run"'))
    .map((line) => JSON.parse(line).processId as number);
const errorsOf = (main: MainProcess) =>
  main
    .stdout()
    .split("\n")
    .filter((line) => line.includes('"level":"error"'));

test("alone: not ready at once, but every request is answered and every run made for the whole delay", async () => {
  const { main, url } = await start();
  const [kept, during] = [open(), open()];
  expect((await ask(kept, url, "GET", "/processes")).connection).not.toBe("close");
  const begun = ask(during, url, "POST", "/processes", { code: pause(1000, "begun"), block: true });
  await expect
    .poll(async () => (await ask(open(), url, "GET", "/processes?state=running")).body.processes.length, {
      timeout: 20_000,
    })
    .toBe(1);
  main.child.kill("SIGTERM");
  await expect.poll(() => statusOf(`${url}/health/ready`), { timeout: 5000 }).toBe(503);

  // A request from before the signal, one on a connection from before it, and one on a new connection.
  const lasting = ask(open(), url, "POST", "/processes", { ...ENDLESS, ref: "lasting" });
  const onKept = await ask(kept, url, "POST", "/processes", { code: "return 1", block: true });
  expect(onKept).toMatchObject({ status: 201, connection: "close", isReused: true, body: { result: 1 } });
  const onNew = await ask(open(), url, "POST", "/processes", { code: "return 2", block: true });
  expect(onNew).toMatchObject({ status: 201, connection: "close", body: { result: 2 } });
  expect(await begun).toMatchObject({ status: 201, connection: "close", body: { result: "begun" } });

  // After the delay: alone it refuses what is new, still reads, and finishes what it runs.
  await sleep(DELAY_MS);
  const refused = await ask(open(), url, "POST", "/processes", { code: "return 3" });
  const [held] = (await ask(open(), url, "GET", "/processes?ref=lasting")).body.processes;
  expect(refused).toMatchObject({ status: 503, connection: "close", body: { code: "shutting_down" } });
  expect(refused.retryAfter).toMatch(/^\d+$/);
  expect((await ask(open(), url, "GET", "/processes")).status).toBe(200);
  expect((await ask(open(), url, "POST", `/processes/${held.id}/signals/kill`)).status).toBe(200);
  expect(await lasting).toMatchObject({ status: 201, body: { exitState: "canceled" } });
  expect(await main.ended()).toBe(0);
  // A refusal is no error of the server's.
  expect(errorsOf(main)).toEqual([]);
}, 180_000);

test("beside another: it takes submissions to its end, and the other one runs them", async () => {
  const [stopping, staying] = [await start(), await start()];
  const { main, url } = stopping;
  const own = ask(open(), url, "POST", "/processes", ENDLESS);
  await expect
    .poll(async () => (await ask(open(), url, "GET", "/processes?state=running")).body.processes.length, {
      timeout: 20_000,
    })
    .toBe(1);
  main.child.kill("SIGTERM");
  await expect.poll(() => statusOf(`${url}/health/ready`), { timeout: 5000 }).toBe(503);

  const handed: number[] = [];
  const submit = async (value: number) => {
    const code = `return ${value}`;
    const answer = await ask(open(), url, "POST", "/processes", { code, block: true });
    expect(answer).toMatchObject({ status: 201, connection: "close", body: { result: value } });
    handed.push(answer.body.id);
  };
  for (const value of [1, 2, 3]) await submit(value);
  await sleep(DELAY_MS);
  // What the other one runs longer than this one has left to run is waited for as well.
  const last = ask(open(), url, "POST", "/processes", { code: pause(7000, "last"), block: true });
  for (const value of [4, 5, 6]) await submit(value);
  const again = await ask(open(), url, "POST", `/processes/${handed[0]}/signals/run`, {
    force: true,
    block: true,
  });
  expect(again).toMatchObject({ status: 200, body: { result: 1 } });
  const [running] = (await ask(open(), url, "GET", "/processes?state=running")).body.processes.slice(-1);
  expect((await ask(open(), url, "POST", `/processes/${running.id}/signals/kill`)).status).toBe(200);
  const { body: ownView } = await own;
  expect(ownView).toMatchObject({ id: running.id, exitState: "canceled" });
  const lastAnswer = await last;
  expect(lastAnswer).toMatchObject({ status: 201, connection: "close", body: { result: "last" } });
  expect(await main.ended()).toBe(0);
  expect(errorsOf(main)).toEqual([]);

  expect(endedOn(main)).toEqual([ownView.id]);
  expect(new Set(endedOn(staying.main))).toEqual(new Set([...handed, lastAnswer.body.id]));
}, 180_000);

test("a tool call that is under way is finished and answered, and event streams end in order", async () => {
  await using server = await startToolsServer({ environment: { SHUTDOWN_TIMEOUT_MS: "20000" } });
  await server.addService("slow", { call: { invoke: () => sleep(3000, "made") } });
  const streams = ["/approvals/stream", "/logs/stream", "/processes/stream"].map(async (path) => {
    const answer = await fetch(server.url + path, { headers: { accept: "text/event-stream" } });
    expect(answer.status).toBe(200);
    return answer.text();
  });
  const call = server.invoke("slow.call");
  await expect.poll(() => server.calls.length, { timeout: 10_000 }).toBe(1);
  const stopping = server.stop();
  expect(await call).toMatchObject({ status: 200, body: { result: "made" } });
  for (const text of await Promise.all(streams)) expect(text).toMatch(/^(:|event|id|data|retry)/m);
  await stopping;
});
