import { connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ProcessRecord } from "#api/processes/model/schemas.ts";
import { sweepFinished } from "#api/processes/retention.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import {
  type ErrorBody,
  expectNothingLeft,
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

beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
  await database.drop();
});

async function start(options: Partial<ProcessesServerOptions> = {}): Promise<ProcessesServer> {
  const server = await startProcessesServer({ databaseUrl: database.url, ...options });
  running.push(server);
  return server;
}

/** A server that disappears: it neither drains nor writes anything any more. */
async function vanish(server: ProcessesServer): Promise<void> {
  await server.app.close();
  await server.pool.end({ timeout: 0 });
}

describe("after a server has died", () => {
  test("what was running is interrupted, what was terminating is canceled, what was queued runs", async () => {
    const first = await start({ slots: 3 });
    const runs = await submit(first, "print lost\nhang", { ref: "ref stays" });
    const killed = await submit(first, "deaf\nhang");
    const paused = await submit(first, "hang");
    const queued = [await submit(first, "print a"), await submit(first, "print b")];
    const stored = await submit(first, "print c", { autorun: false });
    await until("three run", () => first.environment.held === 3);
    await send(first, "POST", `/processes/${killed}/signals/kill`);
    await first.pool`update processes set state = 'paused' where id = ${paused}`;
    await vanish(first);
    running.length = 0;

    const second = await start({ slots: 3 });
    expect(await read(second, runs)).toMatchObject({
      ref: "ref stays",
      state: "idle",
      exitState: "failed",
      reason: "interrupted",
      error: expect.stringContaining("server stopped"),
      errorDetail: { name: "InterruptedError" },
      // Kept where the run was old enough.
      stdout: expect.stringMatching(/^(lost\n)?$/),
    });
    expect(await read(second, killed)).toMatchObject({
      state: "idle",
      exitState: "canceled",
      reason: "killed",
      error: null,
    });
    expect(await read(second, paused)).toMatchObject({ exitState: "failed", reason: "interrupted" });
    expect((await read(second, runs)).completedAt).not.toBeNull();
    for (const [index, id] of queued.entries()) {
      expect(await read(second, id, "?wait=10000")).toMatchObject({
        exitState: "success",
        stdout: `${"ab"[index]}\n`,
      });
    }
    expect(await read(second, stored)).toMatchObject({ state: "idle", exitState: null });
    const fresh = await runScript(second, "print new");
    expect(fresh.id).toBeGreaterThan(stored);
    expect(
      (await send<ProcessRecord>(second, "POST", `/processes/${runs}/signals/run`, { force: true })).status,
    ).toBe(200);
    await send(second, "POST", `/processes/${runs}/signals/kill`);
    await read(second, runs, "?wait=10000");
    await expectNothingLeft(second);
  });

  test("a queue counts for admission from the start", async () => {
    const first = await start({ slots: 1 });
    for (let index = 0; index < 6; index += 1) await submit(first, "hang");
    await vanish(first);
    running.length = 0;
    const second = await start({ active: false, variables: { CYRNEL_MAX_ACTIVE_PROCESSES: "5" } });
    expect(second.service.health()).toMatchObject({ active: 5, queued: 5 });
    await second.stop();
    const [row] = await database.pool<
      { count: number }[]
    >`select count(*)::int as count from processes where state = 'queued'`;
    expect(row?.count).toBe(5);
  });
});

describe("shutting down", () => {
  test("runs may finish in time; new work is refused; queued work stays queued", async () => {
    const server = await start({ slots: 1 });
    const id = await submit(server, "gate drain\nprint finished");
    const queued = await submit(server, "print later");
    const blocked = send<ProcessRecord>(server, "GET", `/processes/${id}?wait=30000`);
    await until("it is waited for", () => server.service.health().listeners === 1);
    const stopped = server.stop(20_000);
    await until(
      "it drains",
      async () => (await send(server, "POST", "/processes", { code: "" })).status === 503,
    );
    const refused = await send<ErrorBody>(server, "POST", "/processes", { code: "" });
    expect([refused.status, refused.body.code]).toEqual([503, "shutting_down"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await send(server, "GET", `/processes/${id}`)).status).toBe(200);
    server.environment.open("drain");
    expect((await blocked).body).toMatchObject({ exitState: "success", stdout: "finished\n" });
    await stopped;
    const next = await start();
    expect(await read(next, queued, "?wait=10000")).toMatchObject({ exitState: "success" });
  });

  test("runs that do not finish in time are interrupted with what they have; who waits is answered", async () => {
    const server = await start({ slots: 1 });
    const id = await submit(server, 'print part\noutput {"part":1}\ncall s t {}\nhang');
    const queued = send<ErrorBody>(server, "POST", "/processes", {
      code: "print later",
      block: true,
      ref: "later",
    });
    await until(
      "both are there",
      () => server.service.health().queued === 1 && server.environment.held === 1,
    );
    const polled = send<ProcessRecord>(server, "GET", `/processes/${id}?wait=60000`);
    await until("it is waited for", () => server.service.health().listeners === 2);
    await server.stop(50);
    expect((await polled).body).toMatchObject({ state: "idle", exitState: "failed", reason: "interrupted" });
    expect([(await queued).status, (await queued).body.code]).toEqual([503, "shutting_down"]);
    const next = await start();
    expect(await read(next, id)).toMatchObject({
      exitState: "failed",
      reason: "interrupted",
      stdout: expect.stringContaining("part\n"),
      output: { part: 1 },
    });
    expect((await send(next, "GET", `/processes/${id}/calls`)).text).toContain('"seq":1');
    const page = await send<{ processes: ProcessRecord[] }>(next, "GET", "/processes?ref=later");
    expect(await read(next, page.body.processes[0]?.id ?? 0, "?wait=10000")).toMatchObject({
      exitState: "success",
    });
  });

  test("an environment that ignores its kill does not hold up the end", { timeout: 40_000 }, async () => {
    const server = await start();
    const id = await submit(server, "deaf\nprint x\nhang");
    await until("it runs", () => server.environment.held === 1);
    const started = Date.now();
    await server.stop(0);
    expect(Date.now() - started).toBeLessThan(15_000);
    const next = await start();
    expect(await read(next, id)).toMatchObject({ exitState: "failed", reason: "interrupted", stdout: "x\n" });
  });
});

describe("a database that goes away", () => {
  test("a run in flight finishes, its result is kept and stored when the database is back", async () => {
    await using link = await openLink(database.url);
    const server = await start({ databaseUrl: link.url, slots: 1 });
    const id = await submit(server, 'print kept\noutput {"kept":true}\ngate away\nreturn "result"');
    const queued = await submit(server, "print next");
    await until("it printed", async () => (await read(server, id)).stdout !== "");
    const blocked = read(server, id, "?wait=60000");
    link.cut();
    server.environment.open("away");
    await until("its ending waits", () => server.service.health().unstored === 1);
    // Not yet stored, so not yet told: a record that is shown as ended must survive the server.
    expect(await read(server, id)).toMatchObject({ state: "running", exitState: null, stdout: "kept\n" });
    const refused = await send<ErrorBody>(server, "POST", "/processes", { code: "" });
    expect([refused.status, refused.body.code]).toEqual([503, "database_unavailable"]);
    expect((await send(server, "GET", `/processes/${queued}`)).status).toBe(503);
    link.restore();
    expect(await blocked).toMatchObject({
      state: "idle",
      exitState: "success",
      result: "result",
      output: { kept: true },
    });
    expect(await read(server, queued, "?wait=20000")).toMatchObject({ exitState: "success" });
    await expectNothingLeft(server);
  });

  test("an answer lost on the way is not mistaken for a lost ending", async () => {
    const server = await start();
    const id = await submit(server, "print x\ngate twice");
    await until("it runs", () => server.environment.held === 1);
    const claim = server.registry.get(id)?.claim ?? "";
    // What a commit whose answer never arrived leaves behind.
    await server.pool`update processes set state = 'idle', exit_state = 'success', reason = 'ok', completed_at = now()
      where id = ${id} and claim = ${claim}::uuid`;
    server.environment.open("twice");
    expect(await read(server, id, "?wait=10000")).toMatchObject({ exitState: "success" });
    await expectNothingLeft(server);
    expect(JSON.stringify(server.logs)).not.toContain("dropped");
  });

  test("a run that someone else has ended keeps that ending", async () => {
    const server = await start();
    const id = await submit(server, "print x\ngate stolen");
    await until("it runs", () => server.environment.held === 1);
    await server.pool`update processes set state = 'idle', exit_state = 'failed', reason = 'interrupted', completed_at = now(),
      claim = gen_random_uuid() where id = ${id}`;
    const blocked = read(server, id, "?wait=10000");
    server.environment.open("stolen");
    expect(await blocked).toMatchObject({ exitState: "failed", reason: "interrupted" });
    await expectNothingLeft(server);
  });
});

describe("answers of the database that were lost on the way", () => {
  test("a queued process that this server does not know of runs all the same", async () => {
    const server = await start();
    const [row] = await server.pool<{ id: number }[]>`
      insert into processes (code, state, queued_at) values ('print found', 'queued', now()) returning id`;
    await server.service.reconcile();
    expect(await read(server, row?.id ?? 0, "?wait=10000")).toMatchObject({
      exitState: "success",
      stdout: "found\n",
    });
    await expectNothingLeft(server);
  });

  test("a place for a process that is not in the queue is given back", async () => {
    const server = await start({ slots: 1 });
    const blocker = await submit(server, "gate place");
    const gone = await submit(server, "print gone");
    await server.pool`delete from processes where id = ${gone}`;
    expect(server.service.health().queued).toBe(1);
    await server.service.reconcile();
    expect(server.service.health()).toMatchObject({ queued: 0, active: 1 });
    server.environment.open("place");
    await read(server, blocker, "?wait=10000");
    await expectNothingLeft(server);
  });

  test("a claim of which nothing runs is queued again, whatever its age; runs of this server are left alone", async () => {
    const server = await start();
    const held = await submit(server, "gate held");
    const lost = await server.pool<{ id: number }[]>`
      insert into processes (code, state, claim, queued_at, started_at)
      select 'print found', 'running', gen_random_uuid(), at, at
      from unnest(array[10, 500]) as n, lateral (select now() - make_interval(secs => n) as at) times returning id`;
    await server.pool`update processes set started_at = now() - interval '1 day' where id = ${held}`;
    await server.service.reconcile();
    for (const { id } of lost) {
      expect(await read(server, id, "?wait=10000")).toMatchObject({
        exitState: "success",
        stdout: "found\n",
      });
    }
    expect(await read(server, held)).toMatchObject({ state: "running" });
    server.environment.open("held");
    expect(await read(server, held, "?wait=10000")).toMatchObject({ exitState: "success" });
    expect(server.environment.attempts.get(held)).toBe(1);
  });
});

describe("retention", () => {
  const options = { retentionDays: null, retentionMax: null, keyTtlMs: 86_400_000 };

  test("removes what ended too long ago, in batches, and nothing that has not ended", async () => {
    const server = await start({ slots: 1 });
    const never = await submit(server, "", { autorun: false });
    const held = await submit(server, "gate retention");
    const queued = await submit(server, "");
    await server.pool`insert into processes (code, state, exit_state, reason, queued_at, started_at, completed_at, created_at)
      select '', 'idle', 'success', 'ok', now(), now(), now() - make_interval(days => n % 20), now() - interval '30 days'
      from generate_series(0, 1999) as n`;
    await server.pool`insert into process_results (process_id) select id from processes where exit_state is not null`;
    await server.pool`update processes set created_at = now() - interval '30 days'`;
    expect(await sweepFinished(server.pool, { ...options, retentionDays: 10 })).toBe(1000);
    const [left] = await server.pool<{ count: number; oldest: Date }[]>`
      select count(*)::int as count, min(completed_at) as oldest from processes where exit_state is not null`;
    expect(left?.count).toBe(1000);
    expect(left?.oldest.getTime()).toBeGreaterThan(Date.now() - 10 * 86_400_000);
    expect(await server.pool`select 1 from process_results`).toHaveLength(1000);
    expect(await sweepFinished(server.pool, { ...options, retentionMax: 7 })).toBe(993);
    expect(await sweepFinished(server.pool, { ...options, retentionMax: 7, retentionDays: 10 })).toBe(0);
    const rest = await server.pool<
      { id: number }[]
    >`select id from processes where exit_state is null order by id`;
    expect(rest.map(({ id }) => id)).toEqual([never, held, queued]);
    server.environment.open("retention");
    await until("all have run", () => server.service.health().active === 0);
  });

  test("keeps everything without limits, and forgets old idempotency keys", async () => {
    const server = await start();
    const headers = { "idempotency-key": "old" };
    await send(server, "POST", "/processes", { code: "", autorun: false }, { headers });
    await server.pool`update idempotency_keys set created_at = now() - interval '25 hours'`;
    await server.pool`update processes set created_at = now() - interval '9999 days'`;
    expect(await sweepFinished(server.pool, options)).toBe(0);
    expect(await server.pool`select 1 from idempotency_keys`).toHaveLength(0);
    expect(await server.pool`select 1 from processes`).toHaveLength(1);
  });

  test("runs at the start of a server", async () => {
    const first = await start();
    await runScript(first, "print old");
    await runScript(first, "print new");
    await first.pool`update processes set completed_at = now() - interval '3 days' where id = 1`;
    await first.stop();
    const second = await start({ variables: { CYRNEL_RETENTION_DAYS: "2" } });
    await until(
      "the old one is gone",
      async () => (await send(second, "GET", "/processes/1")).status === 404,
    );
    expect((await send(second, "GET", "/processes/2")).status).toBe(200);
  });
});

interface Link extends AsyncDisposable {
  url: string;
  /** Breaks every connection and accepts none. */
  cut(): void;
  restore(): void;
}

/** A network link to the database that a test can cut. */
async function openLink(databaseUrl: string): Promise<Link> {
  const target = new URL(databaseUrl);
  const directory = target.searchParams.get("host");
  const port = Number(target.port || 5432);
  const sockets = new Set<Socket>();
  let isCut = false;
  const proxy: Server = createServer((client) => {
    if (isCut) return void client.destroy();
    const server = directory ? connect(`${directory}/.s.PGSQL.${port}`) : connect(port, target.hostname);
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    client.pipe(server).pipe(client);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const address = proxy.address() as { port: number };
  const url = new URL(databaseUrl);
  url.searchParams.delete("host");
  url.hostname = "127.0.0.1";
  url.port = String(address.port);
  const cut = () => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: url.href,
    cut,
    restore: () => {
      isCut = false;
    },
    [Symbol.asyncDispose]: async () => {
      isCut = false;
      for (const server of running.splice(0)) await server.stop();
      cut();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}
