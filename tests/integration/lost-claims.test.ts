/** Claims whose answer was lost, or is late: what never began runs all the same, what began runs once, and each can be killed. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ProcessRecord } from "#api/processes/model/schemas.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import { type DatabaseProxy, type Fault, startDatabaseProxy } from "./harness/database-proxy.ts";
import { timingsVariable } from "./harness/timings.ts";
import {
  expectNothingLeft,
  type ProcessesServer,
  read,
  send,
  startProcessesServer,
  submit,
  until,
} from "./processes-server.ts";

/** Far below the two minutes after which a claim was looked at before, and generous for a busy machine. */
const WITHIN = "?wait=15000";
const INSERT = /insert into processes/;
const CLAIM = /claim_queued/;
const LOSSES: Fault[] = [{ kind: "reset" }, { kind: "cut", afterBytes: 10 }];

let database: TestDatabase;
let proxy: DatabaseProxy;
let server: ProcessesServer;
beforeEach(async () => {
  database = await createTestDatabase();
  proxy = await startDatabaseProxy(database.url);
  server = await startProcessesServer({
    databaseUrl: proxy.url,
    slots: 1,
    variables: timingsVariable(),
  });
});
afterEach(async () => {
  await server.stop();
  await proxy[Symbol.asyncDispose]();
  await database.drop();
});

const post = (key: string, code: string, body: Record<string, unknown> = {}) =>
  send<ProcessRecord>(
    server,
    "POST",
    "/processes",
    { code, ...body },
    { headers: { "idempotency-key": key } },
  );

async function onlyId(): Promise<number> {
  const rows = await database.pool<{ id: number }[]>`select id from processes`;
  expect(rows).toHaveLength(1);
  return rows[0]?.id ?? 0;
}

/** Claimed by nothing that runs: what a commit whose answer never came leaves behind. */
async function insertClaim(code: string, state = "running"): Promise<number> {
  const [row] = await database.pool<{ id: number }[]>`
    insert into processes (code, state, claim, environment, queued_at, started_at)
    values (${code}, ${state}, gen_random_uuid(), 'scripted', now(), now()) returning id`;
  return row?.id ?? 0;
}

describe("the answer is lost", () => {
  test.each(LOSSES)(
    "to the insert ($kind): the repeated request gets the process, which runs once",
    async (fault) => {
      const struck = proxy.strike(INSERT, fault);
      expect((await post("k", "print once")).status).toBe(503);
      await struck;
      const again = await post("k", "print once");
      expect([again.status, again.body.id]).toEqual([201, await onlyId()]);
      expect(await read(server, again.body.id, WITHIN)).toMatchObject({
        exitState: "success",
        stdout: "once\n",
      });
      expect(server.environment.attempts.get(again.body.id)).toBe(1);
      await expectNothingLeft(server);
    },
  );

  test("to the insert: a repeated request that blocks is answered with the result", async () => {
    const struck = proxy.strike(INSERT, { kind: "reset" });
    await post("k", "return 7", { block: true });
    await struck;
    expect((await post("k", "return 7", { block: true })).body).toMatchObject({ result: 7 });
  });

  test("to the insert of a process that is queued: it runs", async () => {
    const blocker = await submit(server, "gate blocker");
    const struck = proxy.strike(INSERT, { kind: "reset" });
    expect((await post("k", "print queued")).status).toBe(503);
    await struck;
    server.environment.open("blocker");
    await read(server, blocker, WITHIN);
    const { id } = (await post("k", "print queued")).body;
    expect(await read(server, id, WITHIN)).toMatchObject({ exitState: "success", stdout: "queued\n" });
    await expectNothingLeft(server);
  });

  test.each(LOSSES)("to the claim of queued processes ($kind): each runs once", async (fault) => {
    server.environment.slots = 3;
    const blockers = await Promise.all([1, 2, 3].map(() => submit(server, "gate blocker")));
    const queued = await Promise.all([1, 2, 3, 4, 5].map((n) => submit(server, `print ${n}`)));
    const struck = proxy.strike(CLAIM, fault, { times: 2 });
    server.environment.open("blocker");
    await struck;
    for (const id of [...blockers, ...queued]) {
      expect(await read(server, id, WITHIN)).toMatchObject({ exitState: "success" });
      expect(server.environment.attempts.get(id)).toBe(1);
    }
    await expectNothingLeft(server);
  });

  test("to the start of a stored process: it runs", async () => {
    const id = await submit(server, "print later", { autorun: false });
    const struck = proxy.strike(/update processes as p set state = 'running'|with restarted/, {
      kind: "reset",
    });
    expect((await send(server, "POST", `/processes/${id}/signals/run`, {})).status).toBe(503);
    await struck;
    expect(await read(server, id, WITHIN)).toMatchObject({ exitState: "success", stdout: "later\n" });
    expect(server.environment.attempts.get(id)).toBe(1);
    await expectNothingLeft(server);
  });

  test("to every third statement, for a while: nothing is left running, and each process has one result", async () => {
    server.environment.slots = 4;
    const keys = Array.from({ length: 30 }, (_, n) => `key ${n}`);
    const struck = Promise.all([
      proxy.strike(INSERT, { kind: "reset" }, { times: 8 }),
      proxy.strike(CLAIM, { kind: "reset" }, { times: 3 }),
      proxy.strike(/with finished/, { kind: "reset" }, { times: 4 }),
    ]);
    const ids = await Promise.all(
      keys.map((key) =>
        until(`${key} is accepted`, async () => {
          const answer = await post(key, "sleep 20\nprint done");
          return answer.status === 201 && answer.body.id;
        }),
      ),
    );
    for (const id of ids) {
      expect(await read(server, id, WITHIN)).toMatchObject({ exitState: "success", stdout: "done\n" });
      expect(server.environment.attempts.get(id)).toBe(1);
    }
    await struck;
    expect(new Set(ids).size).toBe(keys.length);
    await expectNothingLeft(server);
  });
});

describe("the answer is late", () => {
  test("a claim that is still on its way is left alone, however often the database is compared with", async () => {
    const struck = proxy.strike(INSERT, { kind: "delay", ms: 2000 });
    const posting = post("k", "print late");
    const id = await until("the row is there", async () => {
      const [row] = await database.pool<{ id: number }[]>`select id from processes where state = 'running'`;
      return row?.id ?? false;
    });
    for (let look = 0; look < 5; look += 1) await server.service.reconcile();
    const [row] = await database.pool<{ state: string }[]>`select state from processes`;
    expect(row?.state).toBe("running");
    await struck;
    expect((await posting).body).toEqual({ id });
    expect(await read(server, id, WITHIN)).toMatchObject({ exitState: "success" });
    expect(server.environment.attempts.get(id)).toBe(1);
  });

  test("a queued process that is being claimed is left alone", async () => {
    const blocker = await submit(server, "gate blocker");
    const id = await submit(server, "print late");
    const struck = proxy.strike(CLAIM, { kind: "delay", ms: 2000 });
    server.environment.open("blocker");
    await until("it is claimed", async () => {
      const [row] = await database.pool<{ state: string }[]>`select state from processes where id = ${id}`;
      return row?.state === "running";
    });
    await Promise.all([1, 2, 3].map(() => server.service.reconcile()));
    await struck;
    expect(await read(server, id, WITHIN)).toMatchObject({ exitState: "success" });
    expect(await read(server, blocker, WITHIN)).toMatchObject({ exitState: "success" });
    expect(server.environment.attempts.get(id)).toBe(1);
    expect(JSON.stringify(server.logs)).not.toContain("queued again");
  });
});

describe("what nothing runs", () => {
  test("is queued again when it was to run, and canceled when it was to end", async () => {
    const running = await insertClaim("print found");
    const terminating = await insertClaim("print never", "terminating");
    await server.service.reconcile();
    expect(await read(server, running, WITHIN)).toMatchObject({ exitState: "success", stdout: "found\n" });
    expect(await read(server, terminating)).toMatchObject({ exitState: "canceled", reason: "killed" });
    expect(server.environment.attempts.get(terminating)).toBeUndefined();
    await expectNothingLeft(server);
  });

  test.each(["running", "terminating"])("can be killed while it is %s", async (state) => {
    const id = await insertClaim("hang", state);
    expect((await send(server, "POST", `/processes/${id}/signals/kill`)).status).toBe(200);
    expect(await read(server, id, WITHIN)).toMatchObject({ exitState: "canceled", reason: "killed" });
    await expectNothingLeft(server);
  });

  test("can be killed before the answer to its claim has come", async () => {
    const struck = proxy.strike(INSERT, { kind: "delay", ms: 4000 });
    const posting = post("k", "hang");
    const id = await until("the row is there", async () => {
      const [row] = await database.pool<{ id: number }[]>`select id from processes where state = 'running'`;
      return row?.id ?? false;
    });
    const killed = await send<ProcessRecord>(server, "POST", `/processes/${id}/signals/kill`);
    expect([killed.status, killed.body.state]).toEqual([200, "terminating"]);
    await struck;
    await posting;
    expect(await read(server, id, WITHIN)).toMatchObject({ exitState: "canceled", reason: "killed" });
    await expectNothingLeft(server);
  });
});
