/** The embedded Postgres dies under a server: it is started again, and where it cannot be the server ends with the reason. */
import { rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { type DataDirectory, makeDataDirectory, startMain } from "./harness/main-process.ts";

const BACK_MS = 40_000;

async function killPostgres(data: DataDirectory): Promise<number> {
  const pid = await data.postgresPid();
  if (pid === null) throw new Error("no Postgres runs");
  process.kill(pid, "SIGKILL");
  return pid;
}

async function run(url: string): Promise<unknown> {
  const answer = await fetch(`${url}/processes`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code: "return 42", block: true }),
  });
  return { ...((await answer.json()) as object), status: answer.status };
}

test("it is started again, more than once, and the server works on", async () => {
  await using data = await makeDataDirectory();
  const main = startMain({ environment: { CYRNEL_DATA_DIR: data.path, SHUTDOWN_TIMEOUT_MS: "100" } });
  const url = await main.listening();
  expect(await run(url)).toMatchObject({ status: 201, result: 42 });
  for (let time = 1; time <= 2; time++) {
    const killed = await killPostgres(data);
    await expect.poll(() => data.postgresPid(), { timeout: BACK_MS, interval: 200 }).not.toBe(killed);
    await expect
      .poll(async () => (await fetch(`${url}/health/ready`)).status, { timeout: BACK_MS, interval: 200 })
      .toBe(200);
    expect(await run(url)).toMatchObject({ status: 201, result: 42 });
    await expect
      .poll(() => main.stderr().split("had died and was started again").length - 1, { timeout: BACK_MS })
      .toBe(time);
  }
  main.child.kill("SIGTERM");
  expect(await main.ended()).toBe(0);
  expect(await data.postgresPid()).toBeNull();
}, 180_000);

test("one that does not start again ends the server, with what its log says", async () => {
  await using data = await makeDataDirectory();
  const main = startMain({ environment: { CYRNEL_DATA_DIR: data.path, SHUTDOWN_TIMEOUT_MS: "100" } });
  await main.listening();
  const configuration = path.join(data.path, "postgres", "data", "postgresql.conf");
  await writeFile(configuration, "no_such_setting = 1\n");
  const killed = await killPostgres(data);
  expect(await main.ended()).toBe(1);
  expect(main.stderr()).toMatch(/The embedded Postgres has died and was started 5 times .*no_such_setting/s);
  // Left behind by the one that was killed.
  expect(await data.postgresPid()).toBe(killed);
  await rm(path.join(data.path, "postgres", "data", "postmaster.pid"));
}, 180_000);
