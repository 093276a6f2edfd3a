/** Two servers on one database, each with an environment of its own that the test drives. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { TEST_KEY } from "../harness/http-app.ts";
import { until } from "../processes-server.ts";
import { SECRETS_KEY } from "../services-server.ts";
import { startToolsServer, type ToolsServer } from "../tools-server.ts";

let database: TestDatabase;
let one: ToolsServer;
let two: ToolsServer;

beforeAll(async () => {
  database = await createTestDatabase({ maxConnections: 20 });
  const environment = { CYRNEL_API_KEY: TEST_KEY, CYRNEL_SECRETS_KEY: SECRETS_KEY };
  one = await startToolsServer({ database, environment });
  two = await startToolsServer({ database, environment });
  one.environment.slots = 2;
  two.environment.slots = 2;
  await until("they know each other", async () => {
    const rows = await database.pool`select 1 from replicas where address is not null`;
    return rows.length === 2;
  });
});
afterAll(async () => {
  await one?.close();
  await two?.close();
  await database?.drop();
});

/** A test that failed must not take the slots of the next. */
afterEach(async () => {
  const rows = await database.pool<{ id: number }[]>`select id from processes where state <> 'idle'`;
  for (const { id } of rows) await one.post(`/processes/${id}/signals/kill`);
  for (const { id } of rows) await read(one, id, "?wait=10000");
});

async function submit(server: ToolsServer, code: string, body: object = {}): Promise<number> {
  const answer = await server.post("/processes", { code, ...body });
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body.id;
}
const read = async (server: ToolsServer, id: number, query = "") =>
  (await server.get(`/processes/${id}${query}`)).body;
const holds = (server: ToolsServer, id: number) =>
  server.environment.inputs.some((input) => input.eid === id);

/** Reads the whole event stream as text. */
async function follow(server: ToolsServer, id: number, lastEventId?: string): Promise<string> {
  const headers = { accept: "text/event-stream", ...(lastEventId && { "last-event-id": lastEventId }) };
  return (await server.get(`/processes/${id}/events`, headers)).text;
}

/** Resolves once what has happened so far is told, with what reads on to the end. */
async function begin(server: ToolsServer, id: number): Promise<() => Promise<string>> {
  const headers = { accept: "text/event-stream", authorization: `Bearer ${TEST_KEY}` };
  const response = await fetch(`${server.url}/processes/${id}/events`, { headers });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) throw new Error(`no stream: ${response.status}`);
  let text = (await reader.read()).value ?? "";
  return async () => {
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value;
    return text;
  };
}

const withoutPings = (text: string) => text.replaceAll(": ping\n\n", "");

describe("a run that another server holds", () => {
  test("is shown with what it has written so far, and its calls", async () => {
    const id = await submit(
      one,
      'call-in-background s t {}\nprint hello\noutput {"step":1}\ngate shown\nprint bye',
    );
    await until("it waits", async () => (await two.get(`/processes/${id}/calls`)).body.calls.length === 1);
    expect(await read(two, id)).toMatchObject({
      state: "running",
      stdout: expect.stringContaining("hello\n"),
      output: { step: 1 },
      environment: "typescript-process",
    });
    expect((await two.get(`/processes/${id}/output`)).body.code).toBe("process_not_idle");
    one.environment.open("shown");
    expect(await read(two, id, "?wait=10000")).toMatchObject({
      exitState: "success",
      stdout: expect.stringContaining("bye\n"),
    });
    expect(holds(two, id)).toBe(false);
  });

  test("is waited for: by a long poll, and by who started it again with block", async () => {
    const id = await submit(one, "gate waited\nprint done");
    const polled = read(two, id, "?wait=20000");
    await until("it runs", () => holds(one, id));
    for (const server of [one, two]) server.environment.open("waited");
    expect(await polled).toMatchObject({ state: "idle", stdout: "done\n" });
    const again = await two.post(`/processes/${id}/signals/run`, { force: true, block: true });
    expect(again.body).toMatchObject({ state: "idle", exitState: "success" });
    expect(holds(two, id)).toBe(true);
  });

  test("is killed from here, there", async () => {
    const id = await submit(one, "print x\nhang");
    await until("it runs", () => holds(one, id));
    const killed = await two.post(`/processes/${id}/signals/kill`);
    expect([killed.status, killed.body.state]).toEqual([200, "terminating"]);
    expect(await read(two, id, "?wait=10000")).toMatchObject({
      exitState: "canceled",
      reason: "killed",
      stdout: "x\n",
    });
    expect(one.environment.kills).toContain(id);
    expect((await two.post(`/processes/${id}/signals/kill`)).body.code).toBe("process_idle");
  });

  test("is killed there although the notice was lost", async () => {
    const id = await submit(one, "hang");
    await until("it runs", () => holds(one, id));
    await database.pool`update processes set state = 'terminating' where id = ${id}`;
    expect(await read(one, id, "?wait=15000")).toMatchObject({ exitState: "canceled", reason: "killed" });
  });

  test("is followed: the same events, with the same ids, as where it runs", async () => {
    const id = await submit(one, 'print a\ngate followed\nprint b\noutput {"x":1}\nwarn c');
    await until("it runs", () => holds(one, id));
    const [there, here] = await Promise.all([begin(one, id), begin(two, id)]);
    one.environment.open("followed");
    const [direct, passedOn] = [withoutPings(await there()), withoutPings(await here())];
    const parts = (text: string) => text.split("\n\n").filter((part) => !part.includes("event: stdout"));
    expect(parts(passedOn)).toEqual(parts(direct));
    expect(passedOn).toContain('"exitState":"success"');
    // Resuming on one server what began on the other.
    const first = /^id: (\S+)$/m.exec(direct)?.[1];
    expect(withoutPings(await follow(two, id, first))).not.toContain(`id: ${first}\n`);
  });

  test("cannot be deleted or run again from here", async () => {
    const id = await submit(one, "gate guarded");
    await until("it runs", () => holds(one, id));
    expect((await two.request("DELETE", `/processes/${id}`)).body.code).toBe("process_not_idle");
    expect((await two.post(`/processes/${id}/signals/run`, { force: true })).body.code).toBe(
      "process_not_idle",
    );
    one.environment.open("guarded");
    await read(one, id, "?wait=10000");
  });
});

describe("the queue", () => {
  test("is served by whoever has a free slot, and who waits elsewhere is answered", async () => {
    const blockers = [await submit(one, "gate full"), await submit(one, "gate full")];
    const began = performance.now();
    const blocked = await one.post("/processes", { code: "print taken", block: true });
    expect(blocked.body).toMatchObject({ exitState: "success", stdout: "taken\n" });
    expect(holds(two, blocked.body.id)).toBe(true);
    expect(performance.now() - began).toBeLessThan(5000);
    const followed = await submit(one, "print first\ngate slow\nprint second");
    await until("it runs", () => holds(two, followed));
    const events = follow(one, followed);
    two.environment.open("slow");
    expect(await events).toMatch(/first[\s\S]*second[\s\S]*event: end/);
    one.environment.open("full");
    for (const id of blockers) await read(one, id, "?wait=10000");
  });

  test("tells where in it a process is, and forgets one that is killed on another server", async () => {
    const servers = [one, one, two, two];
    const blockers = await Promise.all(servers.map((server) => submit(server, "gate both")));
    await until("all slots are taken", () => one.environment.held + two.environment.held === 4);
    const waiting: number[] = [];
    for (let index = 0; index < 3; index += 1) waiting.push(await submit(one, "print later"));
    const places = await Promise.all(waiting.map((id) => read(two, id)));
    expect(places.map(({ queue }) => queue.position)).toEqual([1, 2, 3]);
    expect(places[2].queue.estimatedMs).toBeGreaterThanOrEqual(0);
    const listed = (await one.get("/processes?state=queued")).body.processes;
    expect(listed.map(({ queue }: { queue: { position: number } }) => queue.position)).toEqual([3, 2, 1]);
    expect((await two.post(`/processes/${waiting[0]}/signals/kill`)).body).toMatchObject({
      reason: "killed",
    });
    expect((await read(one, waiting[1] as number)).queue.position).toBe(1);
    for (const server of [one, two]) server.environment.open("both");
    for (const id of [...blockers, ...waiting.slice(1)]) {
      expect(await read(two, id, "?wait=10000")).toMatchObject({ exitState: "success" });
    }
    // What happens on another server is counted at the next comparison.
    for (const server of [one, two]) {
      await until("its counts are right", async () => {
        const metrics = (await server.get("/metrics")).text;
        return ["cyrnel_queue_depth 0", "cyrnel_processes_active 0"].every((line) => metrics.includes(line));
      });
    }
  });
});

test("what only servers ask each other needs their token", async () => {
  const id = await submit(one, "gate private");
  for (const authorization of ["", `Bearer ${TEST_KEY}`, `Bearer ${"A".repeat(43)}`]) {
    const answer = await one.get(`/internal/runs/${id}?until=idle&maxMs=0`, { authorization });
    expect([answer.status, answer.body.code]).toEqual([401, "unauthorized"]);
  }
  one.environment.open("private");
  await read(one, id, "?wait=10000");
});
