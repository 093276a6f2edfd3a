import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Pool } from "#api/db/pool.ts";
import { createPool } from "#api/db/pool.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import {
  type ErrorBody,
  expectNothingLeft,
  type ProcessesServer,
  read,
  runScript,
  send,
  startProcessesServer,
  submit,
  until,
} from "./processes-server.ts";

let database: TestDatabase;
let server: ProcessesServer;
let statements: string[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  server = await startProcessesServer({
    databaseUrl: database.url,
    pool: countStatements(createPool(database.url, { maxConnections: 5 })),
    slots: 3,
    variables: { CYRNEL_MAX_ACTIVE_PROCESSES: "50" },
  });
});
afterEach(() => expectNothingLeft(server));
afterAll(async () => {
  await server?.stop();
  await database?.drop();
});

/** The same pool; notes every statement that is sent. */
function countStatements(pool: Pool): Pool {
  return new Proxy(pool, {
    apply(target, self, parameters) {
      const query = Reflect.apply(target as never, self, parameters) as {
        then?: unknown;
        strings?: readonly string[];
      };
      const [template] = parameters as [readonly string[]];
      if (!Array.isArray(template) || !("raw" in template)) return query;
      // A fragment is never awaited: only what is awaited is sent.
      return new Proxy(query, {
        get(inner, name) {
          if (name === "then") statements.push(template.join("?").trim().replace(/\s+/g, " "));
          const value = Reflect.get(inner, name, inner) as unknown;
          return typeof value === "function" ? value.bind(inner) : value;
        },
      });
    },
  });
}

describe("admission", () => {
  test("300 at once over a maximum of 50: exactly 50 are admitted, the rest refused at once without the database", async () => {
    const latencies: number[] = [];
    const answers = await Promise.all(
      Array.from({ length: 300 }, async () => {
        const started = performance.now();
        const answer = await send<{ id: number } & ErrorBody>(server, "POST", "/processes", {
          code: "gate admission",
        });
        if (answer.status === 429) latencies.push(performance.now() - started);
        return answer;
      }),
    );
    const admitted = answers.filter(({ status }) => status === 201);
    const refused = answers.filter(({ status }) => status === 429);
    expect([admitted.length, refused.length]).toEqual([50, 250]);
    for (const { body, headers } of refused) {
      expect(body.code).toBe("too_many_processes");
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    }
    expect(await server.pool`select 1 from processes`).toHaveLength(50);
    expect(server.service.health()).toMatchObject({ active: 50, queued: 47, slotsTaken: 3 });
    try {
      statements = [];
      const started = performance.now();
      expect((await send(server, "POST", "/processes", { code: "x" })).status).toBe(429);
      expect((await send(server, "POST", `/processes/${admitted[0]?.body.id}/signals/run`)).status).toBe(429);
      expect((performance.now() - started) / 2).toBeLessThan(100);
      expect(statements).toEqual([]);
    } finally {
      // Closed, it would keep the slots from all tests that follow.
      server.environment.open("admission");
    }
    await until("all have run", () => server.service.health().active === 0, 20_000);
    expect(server.environment.maxConcurrent).toBe(3);
    const ended = await server.pool`select 1 from processes where exit_state = 'success'`;
    expect(ended).toHaveLength(50);
    expect(server.environment.inputs).toHaveLength(50);
    expect((await send(server, "POST", "/processes", { code: "print x" })).status).toBe(201);
  });

  test("a request sent again with its Idempotency-Key is answered by a server that takes nothing new", async () => {
    const post = (key: string, code = "gate again") =>
      send<{ id: number } & ErrorBody>(
        server,
        "POST",
        "/processes",
        { code },
        {
          headers: { "idempotency-key": key },
        },
      );
    const first = await post("again");
    await Promise.all(Array.from({ length: 49 }, () => submit(server, "gate again")));
    const [again, other, changed] = [await post("again"), await post("other"), await post("again", "gate x")];
    expect([again.status, again.body.id]).toEqual([201, first.body.id]);
    expect([other.status, other.body.code]).toEqual([429, "too_many_processes"]);
    expect([changed.status, changed.body.code]).toEqual([422, "idempotency_mismatch"]);
    server.environment.open("again");
    await until("all have run", () => server.service.health().active === 0, 20_000);
  });

  test("a process keeps its place while the database stores it, also when the queue is counted meanwhile", async () => {
    await server.pool.unsafe(`
      create function store_slowly() returns trigger language plpgsql as
        $$ begin perform pg_advisory_xact_lock(1); return new; end $$;
      create trigger store_slowly before insert on processes for each row
        when (new.ref = 'slow') execute function store_slowly()`);
    await Promise.all(Array.from({ length: 49 }, () => submit(server, "gate slow")));
    const lock = await server.pool.reserve();
    await lock`select pg_advisory_lock(1)`;
    const last = submit(server, "gate slow", { ref: "slow" });
    await until("it is counted", () => server.service.health().active === 50);
    const countings = () => statements.filter((statement) => statement.includes("count(*)")).length;
    const before = countings();
    await until("the queue was counted twice", () => countings() >= before + 2, 20_000);
    expect((await send(server, "POST", "/processes", { code: "x" })).status).toBe(429);
    await lock`select pg_advisory_unlock(1)`;
    lock.release();
    await last;
    expect(server.service.health().active).toBe(50);
    server.environment.open("slow");
    await until("all have run", () => server.service.health().active === 0, 20_000);
    await server.pool.unsafe("drop trigger store_slowly on processes; drop function store_slowly");
  });

  test("a process that could not be stored gives its place back", async () => {
    await submit(server, "", { ref: "place" });
    await until("it has ended", () => server.service.health().active === 0);
    const answers = await Promise.all(
      Array.from({ length: 120 }, () => send(server, "POST", "/processes", { code: "", ref: "place" })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([409, 429]));
    await expectNothingLeft(server);
  });
});

describe("the queue", () => {
  test("is served oldest first, and a later POST never overtakes it", async () => {
    const first = server.environment.inputs.length;
    const ids: number[] = [];
    for (let index = 0; index < 3; index += 1) ids.push(await submit(server, "gate order"));
    for (let index = 0; index < 12; index += 1) ids.push(await submit(server, "sleep 1"));
    expect(await read(server, ids[3] ?? 0)).toMatchObject({ state: "queued", startedAt: null });
    server.environment.open("order");
    const last = await runScript(server, "print last");
    await until("all have run", () => server.service.health().active === 0);
    const order = server.environment.inputs.slice(first).map(({ eid }) => eid);
    expect([...order].sort((a, b) => a - b)).toEqual([...ids, last.id]);
    // Three run at once, so neighbours may swap; nobody waits for those who came much later.
    for (const [place, id] of order.entries())
      expect(Math.abs(place - [...ids, last.id].indexOf(id))).toBeLessThanOrEqual(3);
    const queued = await read(server, ids.at(-1) ?? 0);
    expect(queued.usage.queuedMs).toBeGreaterThanOrEqual(0);
    expect(Date.parse(queued.startedAt ?? "")).toBeGreaterThanOrEqual(Date.parse(queued.createdAt));
  });

  test("block on a queued process answers with its end", async () => {
    const blockers = await Promise.all([1, 2, 3].map(() => submit(server, "gate blockers")));
    const blocked = Array.from({ length: 10 }, (_, index) => runScript(server, `return ${index}`));
    await until("all are queued", () => server.service.health().queued === 10);
    server.environment.open("blockers");
    expect((await Promise.all(blocked)).map(({ result }) => result)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    for (const id of blockers) await read(server, id, "?wait=10000");
  });
});

describe("cost", () => {
  test("a warm run with block costs two statements, one with a call no more", async () => {
    await runScript(server, "print warm-up");
    statements = [];
    const record = await runScript(server, 'print x\noutput {"a":1}\nreturn 1\ncall a b {}');
    expect(record.exitState).toBe("success");
    expect(statements.map((statement) => statement.slice(0, 24))).toEqual([
      expect.stringMatching(/^insert into processes/),
      expect.stringMatching(/^with finished as/),
    ]);
  });

  test("reading a running process costs no statement, a page one", async () => {
    const id = await submit(server, "print x\ngate cost");
    await until("it runs", () => server.registry.get(id) !== undefined);
    statements = [];
    await read(server, id);
    await send(server, "GET", `/processes/${id}/calls`);
    await send(server, "GET", `/processes/${id}/code`);
    expect(statements).toEqual([]);
    await send(server, "GET", "/processes?limit=200");
    expect(statements).toHaveLength(1);
    server.environment.open("cost");
  });
});
