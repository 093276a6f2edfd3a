import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { makeDataDirectory, startMain } from "./harness/main-process.ts";

async function submit(url: string, body: object): Promise<{ status: number; body: Record<string, unknown> }> {
  const answer = await fetch(`${url}/processes`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

async function read(url: string, path: string): Promise<Record<string, unknown>> {
  return (await (await fetch(url + path)).json()) as Record<string, unknown>;
}

async function waitUntilRunning(url: string, id: unknown): Promise<void> {
  await expect
    .poll(async () => (await read(url, `/processes/${id}`)).stdout, { timeout: 30_000 })
    .toContain("started");
}

const pause = (ms: number) =>
  `console.log("started"); await new Promise((resolve) => setTimeout(resolve, ${ms})); return "done";`;
const ENDLESS = 'console.log("started"); await new Promise((resolve) => setTimeout(resolve, 3_600_000));';

test("SIGTERM: a run that finishes in time succeeds and its client is answered; new work is refused meanwhile", async () => {
  await using data = await makeDataDirectory();
  const environment = { CYRNEL_DATA_DIR: data.path, SHUTDOWN_TIMEOUT_MS: "60000" };
  const main = startMain({ environment });
  const url = await main.listening();
  const answer = submit(url, { code: pause(4000), ref: "finishing", block: true });
  await waitUntilRunning(url, await idOf(url, "finishing"));
  main.child.kill("SIGTERM");

  await expect
    .poll(async () => (await submit(url, { code: "1" })).body.code, { timeout: 3000 })
    .toBe("shutting_down");
  const refused = await fetch(`${url}/processes`, { method: "POST" });
  expect(refused.headers.get("retry-after")).toMatch(/^\d+$/);
  expect((await fetch(`${url}/health/ready`)).status).toBe(503);
  expect((await fetch(`${url}/health/live`)).status).toBe(200);

  expect(await answer).toMatchObject({ status: 201, body: { exitState: "success", result: "done" } });
  expect(await main.ended()).toBe(0);
});

test("SIGTERM: a run that does not finish ends interrupted, what waited in the queue runs after the next start", async () => {
  await using data = await makeDataDirectory();
  const environment = { CYRNEL_DATA_DIR: data.path, SHUTDOWN_TIMEOUT_MS: "300" };
  const first = startMain({ environment });
  const url = await first.listening();
  const { slots } = (await read(url, "/environment")).capacity as { slots: number };
  const running = [];
  for (let slot = 0; slot < slots; slot++) running.push((await submit(url, { code: ENDLESS })).body.id);
  for (const id of running) await waitUntilRunning(url, id);
  const queued = (await submit(url, { code: "return 6 * 7" })).body.id;
  expect((await read(url, `/processes/${queued}`)).state).toBe("queued");
  const blocked = submit(url, { code: "return 1", ref: "blocked", block: true });
  await expect.poll(() => idOf(url, "blocked"), { timeout: 10_000 }).toBeDefined();
  first.child.kill("SIGTERM");
  expect([200, 201, 503]).toContain((await blocked).status);
  expect(await first.ended()).toBe(0);

  const second = startMain({ environment });
  const again = await second.listening();
  for (const id of running) {
    expect(await read(again, `/processes/${id}`)).toMatchObject({
      state: "idle",
      exitState: "failed",
      reason: "interrupted",
    });
  }
  expect(await read(again, `/processes/${queued}?wait=30000`)).toMatchObject({
    exitState: "success",
    result: 42,
  });
  second.child.kill("SIGTERM");
  expect(await second.ended()).toBe(0);
});

test("kill -9 with runs in flight: the next start ends them as interrupted, and no child outlives the server", async () => {
  await using data = await makeDataDirectory();
  const environment = { CYRNEL_DATA_DIR: data.path };
  const first = startMain({ environment });
  const url = await first.listening();
  const { id } = (await submit(url, { code: ENDLESS })).body;
  await waitUntilRunning(url, id);
  const children = await listChildren(first.child.pid as number, await data.postgresPid());
  expect(children.length).toBeGreaterThan(0);
  first.child.kill("SIGKILL");
  await first.ended();
  await expect.poll(() => children.filter(isRunning), { timeout: 20_000 }).toEqual([]);
  const second = startMain({ environment });
  const again = await second.listening();
  expect(await read(again, `/processes/${id}`)).toMatchObject({ exitState: "failed", reason: "interrupted" });
  second.child.kill("SIGTERM");
  expect(await second.ended()).toBe(0);
});

test("a second signal ends it at once", async () => {
  await using data = await makeDataDirectory();
  const main = startMain({ environment: { CYRNEL_DATA_DIR: data.path, SHUTDOWN_TIMEOUT_MS: "600000" } });
  const url = await main.listening();
  const { id } = (await submit(url, { code: ENDLESS })).body;
  await waitUntilRunning(url, id);
  main.child.kill("SIGINT");
  await sleep(1500);
  main.child.kill("SIGINT");
  expect(await main.ended()).toBe(1);
});

async function listChildren(pid: number, except: number | null): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
  return text
    .trim()
    .split(" ")
    .map(Number)
    .filter((child) => child > 0 && child !== except);
}

/** Not gone, and not a zombie either. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

async function idOf(url: string, ref: string): Promise<unknown> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const { processes } = (await read(url, `/processes?ref=${ref}`)) as { processes: { id: number }[] };
    if (processes[0]) return processes[0].id;
    await sleep(50);
  }
  throw new Error(`no process with the ref ${ref}`);
}

test("nobody reads what it writes any more: it goes on working, and stops as it should", async () => {
  await using data = await makeDataDirectory();
  const environment = { CYRNEL_DATA_DIR: data.path, LOG_LEVEL: "debug" };
  const main = startMain({ environment });
  const url = await main.listening();
  main.child.stdout?.destroy();
  main.child.stderr?.destroy();
  for (let n = 0; n < 3; n++) {
    expect(await submit(url, { code: `return ${n}`, block: true })).toMatchObject({ body: { result: n } });
  }
  main.child.kill("SIGTERM");
  expect(await main.ended()).toBe(0);
  expect(await data.postgresPid()).toBeNull();
});
