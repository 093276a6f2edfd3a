/** An older server beside a newer one, whose migration it does not know: it begins no run, and finishes those that it has. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { until } from "../processes-server.ts";
import { startToolsServer, type ToolsServer } from "../tools-server.ts";

let database: TestDatabase;
let server: ToolsServer;
beforeEach(async () => {
  database = await createTestDatabase({ maxConnections: 10 });
  server = await startToolsServer({ database });
  server.environment.slots = 1;
});
afterEach(async () => {
  await server?.close();
  await database?.drop();
});

const submit = async (code: string): Promise<number> => (await server.post("/processes", { code })).body.id;
const read = async (id: number, query = "") => (await server.get(`/processes/${id}${query}`)).body;

/** As the newer server does it when it starts. */
async function migrate(): Promise<void> {
  await database.pool.begin(async (db) => {
    await db`alter table processes add column of_the_newer text`;
    await db`insert into schema_migrations (name, run_on) values ('9999_newer', now())`;
  });
}

test("finishes what it runs, begins nothing, is not ready, and says which schemas they are", async () => {
  const running = await submit("gate before\nprint finished");
  const queued = await submit("print queued");
  await until("it runs", async () => (await read(running)).state === "running");
  await migrate();
  server.environment.open("before");
  expect(await read(running, "?wait=10000")).toMatchObject({ exitState: "success", stdout: "finished\n" });

  const warning = await until("it says so", () =>
    server.logs().find(({ msg }) => String(msg).includes("starts no more runs")),
  );
  expect(warning).toMatchObject({ schema: "9999_newer", known: expect.stringMatching(/^\d{4}_/) });
  const submitted = await submit("print submitted");
  const { status, body } = await server.get("/health/ready");
  expect(status).toBe(503);
  expect(body.failing).toEqual([
    { check: "migrations", message: expect.stringMatching(/at 9999_newer, this program knows \d{4}_/) },
  ]);
  // Longer than it takes to look at the queue again.
  await new Promise((resolve) => setTimeout(resolve, 4000));
  expect([(await read(queued)).state, (await read(submitted)).state]).toEqual(["queued", "queued"]);

  await database.pool`delete from schema_migrations where name = '9999_newer'`;
  for (const id of [queued, submitted]) {
    expect(await read(id, "?wait=20000")).toMatchObject({ exitState: "success" });
  }
}, 90_000);
