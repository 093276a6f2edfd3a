import { execFile } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { makeDataDirectory, startMain } from "./harness/main-process.ts";

test("a wrong configuration ends with 78 and every problem, before anything is opened", async () => {
  await using data = await makeDataDirectory({ empty: true });
  const main = startMain({
    environment: {
      CYRNEL_DATA_DIR: data.path,
      PORT: "no",
      LOG_LEVEL: "loud",
      CYRNEL_API_KEY: "weak",
      DATABASE_URL: "postgres://u:hunter2@",
    },
  });
  expect(await main.ended()).toBe(78);
  for (const name of ["PORT", "LOG_LEVEL", "CYRNEL_API_KEY", "DATABASE_URL"]) {
    expect(main.stderr()).toContain(`  - ${name}: `);
  }
  expect(main.stderr()).not.toContain("hunter2");
  expect(main.stdout()).toBe("");
  expect(await data.postgresPid()).toBeNull();
});

test("a port in use ends the start before anything is made", async () => {
  await using data = await makeDataDirectory({ empty: true });
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  const main = startMain({ environment: { CYRNEL_DATA_DIR: data.path, PORT: String(port) } });
  expect(await main.ended()).toBe(1);
  taken.close();
  expect(main.stderr()).toBe(
    `cyrnel: Cannot start: 127.0.0.1:${port} is in use by another program, perhaps another Cyrnel server. Set PORT to a free port (0 takes any).\n`,
  );
  expect(readdirSync(data.path)).toEqual([]);
});

describe("a data directory that cannot be used is named with its variable, at once", () => {
  test.each([
    ["a file", (folder: string) => path.join(folder, "file"), "is not a folder"],
    ["below a file", (folder: string) => path.join(folder, "file", "data"), "is not a folder"],
    ["below /proc", () => "/proc/cyrnel/data", "no folder can be created in /proc."],
    ["/proc itself", () => "/proc", "no folder can be created in /proc."],
    ["not writable", (folder: string) => path.join(folder, "closed", "data"), "this user may not write to"],
  ])("%s", async (_what, choose, reason) => {
    await using data = await makeDataDirectory({ empty: true });
    const closed = path.join(data.path, "closed");
    writeFileSync(path.join(data.path, "file"), "");
    mkdirSync(closed);
    chmodSync(closed, 0o555);
    const chosen = choose(data.path);
    const isRoot = process.getuid?.() === 0;
    const started = startMain({
      environment: { CYRNEL_DATA_DIR: chosen },
      ...(isRoot && chosen.startsWith(closed) && { uid: 65_534 }),
    });
    expect(await started.ended()).toBe(78);
    const lines = started.stderr().trimEnd().split("\n");
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`Cannot start: The data directory ${chosen} cannot be used: `);
    expect(lines[0]).toContain(reason);
    expect(lines[0]).toContain("Set CYRNEL_DATA_DIR to a folder that this user may write to");
  });

  test("and so is the folder for what runs write, before a database is made", async () => {
    await using data = await makeDataDirectory({ empty: true });
    const environment = { CYRNEL_DATA_DIR: data.path, CYRNEL_SPOOL_DIR: "/proc/cyrnel" };
    const started = startMain({ environment });
    expect(await started.ended()).toBe(78);
    expect(started.stderr()).toBe(
      "cyrnel: Cannot start: The spool directory /proc/cyrnel cannot be used: no folder can be created in /proc. Set CYRNEL_SPOOL_DIR to a folder that this user may write to.\n",
    );
    expect(readdirSync(data.path)).toEqual([]);
  });
});

test.each(["192.0.2.1", "no-such-host.invalid"])(
  "HOST=%s, no address of this machine, is named",
  async (HOST) => {
    await using data = await makeDataDirectory({ empty: true });
    const CYRNEL_API_KEY = "a-key-for-tests-0123456789";
    const environment = { CYRNEL_DATA_DIR: data.path, PORT: "9371", HOST, CYRNEL_API_KEY };
    const started = startMain({ environment });
    expect(await started.ended()).toBe(1);
    expect(started.stderr()).toContain(
      `Cannot start: this machine has no address ${HOST}. Set HOST to one of its`,
    );
    expect(readdirSync(data.path)).toEqual([]);
  },
);

test("in a terminal the log is for people, without the key, and the last line of the start is the console's address", async () => {
  await using data = await makeDataDirectory();
  const CYRNEL_API_KEY = "a-key-for-tests-0123456789";
  const main = startMain({
    environment: { CYRNEL_DATA_DIR: data.path, CYRNEL_API_KEY, LOG_LEVEL: "debug", NO_COLOR: "1" },
    isTerminal: true,
  });
  const url = await main.listening();
  await expect.poll(main.stdout).toMatch(new RegExp(`\nConsole: ${url}\\r\n$`));
  const headers = { "x-request-id": "seen", authorization: `Bearer ${CYRNEL_API_KEY}` };
  await fetch(`${url}/${CYRNEL_API_KEY}%1b%5b2J`, { headers });
  await expect.poll(main.stdout).toMatch(/^\d\d:\d\d:\d\d (info|warn ) .*requestId="seen"/m);
  expect(main.stdout()).not.toContain(CYRNEL_API_KEY);
  expect(main.stdout()).not.toContain("\u001b");
  expect(main.stdout()).not.toMatch(/^\{/m);
  main.child.stdin?.write("\u0003");
  expect(await main.ended()).toBe(0);
});

test("listening beyond loopback without a key is refused with the way out", async () => {
  const main = startMain({ environment: { HOST: "0.0.0.0" } });
  expect(await main.ended()).toBe(78);
  expect(main.stderr()).toContain("CYRNEL_API_KEY");
});

test("it says which address it listens on, and one to ask it at", async () => {
  await using data = await makeDataDirectory();
  const CYRNEL_API_KEY = "a-key-for-tests-0123456789";
  const main = startMain({ environment: { CYRNEL_DATA_DIR: data.path, HOST: "0.0.0.0", CYRNEL_API_KEY } });
  const { hostname, port } = new URL(await main.listening());
  expect(hostname).toBe("0.0.0.0");
  expect(main.stderr()).toContain(`; API: http://127.0.0.1:${port}/docs)`);
  main.child.kill("SIGTERM");
  expect(await main.ended()).toBe(0);
});

test("SIGTERM ends it with 0, and no Postgres is left; the next start has the data", async () => {
  await using data = await makeDataDirectory({ empty: true });
  const environment = { CYRNEL_DATA_DIR: data.path };
  const first = startMain({ environment });
  const url = await first.listening();
  expect(first.stderr()).toContain("without a key");
  expect((await fetch(`${url}/health`)).status).toBe(200);
  const pid = await data.postgresPid();
  expect(pid).not.toBeNull();
  first.child.kill("SIGTERM");
  expect(await first.ended()).toBe(0);
  expect(await data.postgresPid()).toBeNull();
  await expect.poll(() => isAlive(pid as number), { timeout: 20_000 }).toBe(false);

  const second = startMain({ environment });
  await second.listening();
  second.child.kill("SIGINT");
  expect(await second.ended()).toBe(0);
});

test("after kill -9 the next start takes over the database that was left running", async () => {
  await using data = await makeDataDirectory();
  const environment = { CYRNEL_DATA_DIR: data.path };
  const first = startMain({ environment });
  await first.listening();
  const orphan = await data.postgresPid();
  first.child.kill("SIGKILL");
  expect(await first.ended()).toBe("SIGKILL");
  expect(isAlive(orphan as number)).toBe(true);

  const second = startMain({ environment });
  const url = await second.listening();
  expect((await fetch(`${url}/processes`)).status).toBe(200);
  expect(await data.postgresPid()).toBe(orphan);
  second.child.kill("SIGTERM");
  expect(await second.ended()).toBe(0);
  expect(await data.postgresPid()).toBeNull();
});

test("a second server on the same data refuses with a sentence and leaves the first alone", async () => {
  await using data = await makeDataDirectory();
  const environment = { CYRNEL_DATA_DIR: data.path };
  const first = startMain({ environment });
  const url = await first.listening();
  const second = startMain({ environment });
  expect(await second.ended()).toBe(1);
  expect(second.stderr()).toContain("Another Cyrnel server already uses this database");
  expect((await fetch(`${url}/processes`)).status).toBe(200);
  first.child.kill("SIGTERM");
  expect(await first.ended()).toBe(0);
});

test("a port that is taken is named", async () => {
  await using data = await makeDataDirectory();
  await using other = await makeDataDirectory({ empty: true });
  const first = startMain({ environment: { CYRNEL_DATA_DIR: data.path } });
  const { port } = new URL(await first.listening());
  const second = startMain({ environment: { CYRNEL_DATA_DIR: other.path, PORT: port } });
  expect(await second.ended()).toBe(1);
  expect(second.stderr()).toContain(`127.0.0.1:${port} is in use`);
  expect(await other.postgresPid()).toBeNull();
  first.child.kill("SIGTERM");
  expect(await first.ended()).toBe(0);
});

test.each([150, 400, 700, 1000])(
  "a signal %d ms after the start ends it with 0 and leaves nothing behind",
  async (delayMs) => {
    await using data = await makeDataDirectory({ empty: true });
    const main = startMain({ environment: { CYRNEL_DATA_DIR: data.path } });
    await sleep(delayMs);
    main.child.kill("SIGTERM");
    const end = await main.ended();
    // Before its first line has run there is no handler yet.
    expect([0, "SIGTERM"]).toContain(end);
    expect(await data.postgresPid()).toBeNull();
    if (existsSync(path.join(data.path, "postgres"))) {
      expect(readdirSync(path.join(data.path, "postgres")).filter((name) => name.startsWith("new-"))).toEqual(
        [],
      );
    }
  },
);

test("SIGUSR1 opens no inspector", async () => {
  await using data = await makeDataDirectory();
  const main = startMain({ environment: { CYRNEL_DATA_DIR: data.path } });
  const url = await main.listening();
  main.child.kill("SIGUSR1");
  await sleep(300);
  expect((await fetch(`${url}/health`)).status).toBe(200);
  expect(main.stderr()).not.toContain("Debugger");
  const { stdout } = await promisify(execFile)("cat", [`/proc/${main.child.pid}/net/tcp`]);
  expect(stdout).not.toMatch(/0100007F:240D 00000000:0000 0A/i);
  main.child.kill("SIGTERM");
  expect(await main.ended()).toBe(0);
});

test("an open connection that sends nothing does not keep it from stopping", async () => {
  await using data = await makeDataDirectory();
  const main = startMain({ environment: { CYRNEL_DATA_DIR: data.path, SHUTDOWN_TIMEOUT_MS: "500" } });
  const { port } = new URL(await main.listening());
  const socket = connect(Number(port), "127.0.0.1");
  socket.on("error", () => {});
  socket.write("POST /processes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n");
  await sleep(200);
  main.child.kill("SIGTERM");
  expect(await main.ended()).toBe(0);
  socket.destroy();
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test("a misspelt variable is named with the one that was meant, and stops nothing; a first start says what takes so long", async () => {
  await using data = await makeDataDirectory({ empty: true });
  const main = startMain({
    environment: {
      CYRNEL_DATA_DIR: data.path,
      CYRNEL_DEFAULT_POLICI: "ask",
      CYRNEL_SERVICE_HOST: "10.0.0.7",
      CYRNEL_PORT_9371_TCP_ADDR: "10.0.0.7",
    },
  });
  await main.listening();
  expect(main.stderr()).toMatch(
    /^cyrnel: CYRNEL_DEFAULT_POLICI is no setting of the server and does nothing: did you mean CYRNEL_DEFAULT_POLICY/m,
  );
  expect(main.stderr()).not.toMatch(/CYRNEL_SERVICE_HOST|_TCP_ADDR/);
  expect(main.stderr()).toMatch(/^cyrnel: first start: creating a Postgres database in [\s\S]*listening on/m);
  main.child.kill("SIGTERM");
  expect(await main.ended()).toBe(0);
});

test("a database that does not answer is named at once, while it is waited for", async () => {
  const main = startMain({ environment: { DATABASE_URL: "postgres://cyrnel@127.0.0.1:1/cyrnel" } });
  await expect
    .poll(() => main.stderr(), { timeout: 8000 })
    .toMatch(
      /^cyrnel: The database at 127\.0\.0\.1:1 does not answer \(ECONNREFUSED.*\); waiting for it, 10 s at most$/m,
    );
  expect(main.child.exitCode).toBeNull();
  main.child.kill("SIGTERM");
  await main.ended();
});
