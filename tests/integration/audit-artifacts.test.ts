/** What the audit trail says of the files that runs left: one record of a run, of who started it, whatever it wrote. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BUILTIN_MODULES } from "#api/components/modules/builtins.ts";
import { startServer, type TestServer } from "./harness/server.ts";

let server: TestServer;
let alice: { id: string; headers: Record<string, string> };

beforeAll(async () => {
  server = await startServer({
    builtins: BUILTIN_MODULES.filter(({ id }) => id === "typescript-process"),
    environment: {
      CYRNEL_API_KEY: "artifacts-bootstrap-key-0123456789",
      CYRNEL_MAX_WORKSPACE_BYTES: "50000",
      CYRNEL_MAX_STORED_BYTES: "60000",
    },
  });
  await server.post("/modules/typescript-process/enabled", { enabled: true });
  const scopes = ["processes:read", "processes:write"];
  const { body } = await server.post("/keys", { name: "alice", scopes });
  alice = { id: body.id, headers: { authorization: `Bearer ${body.key}` } };
});
afterAll(() => server.close());

const run = async (code: string) =>
  (await server.post("/processes", { code, block: true }, alice.headers)).body as { id: number };
const recordsOf = async ({ id }: { id: number }) =>
  (await server.get(`/audit?processId=${id}&action=process.artifacts`)).body.records;
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

test("a run is one record, with what it left, of who started it", async () => {
  const left = await run(
    `await cyrnel.files.write("out/a.txt", "first"); await cyrnel.files.write("b", "second")`,
  );
  const files = [
    { name: "out/a.txt", use: "left", size: 5, sha256: sha256("first") },
    { name: "b", use: "left", size: 6, sha256: sha256("second") },
  ];
  const actor = { kind: "key", id: alice.id, name: "alice" };
  const record = {
    actor,
    object: { kind: "process", id: String(left.id) },
    outcome: "ok",
    code: null,
    processId: left.id,
    parameters: { count: 2, bytes: 11 },
    files,
  };
  expect(await recordsOf(left)).toMatchObject([record]);
  await server.post(`/processes/${left.id}/signals/run`, { force: true, block: true });
  const again = { ...record, actor: { kind: "bootstrap", id: null, name: "bootstrap" } };
  expect(await recordsOf(left)).toMatchObject([again, record]);
});

test("of many files the first are named, and all are counted; of a run without files there is nothing", async () => {
  const many = await run(`for (let n = 0; n < 60; n++) await cyrnel.files.write("f" + n, "x")`);
  const [record] = await recordsOf(many);
  expect(record.parameters).toEqual({ count: 60, bytes: 60 });
  expect([record.files.length, record.files[49].name]).toEqual([50, "f49"]);
  expect(await recordsOf(await run("return 1"))).toEqual([]);
});

test("what a limit kept from being stored is refused, with the limit and what is there all the same", async () => {
  const wrote = await run(
    `await cyrnel.files.write("kept", "k"); await cyrnel.files.write("large", "x".repeat(50_000))`,
  );
  expect(await recordsOf(wrote)).toMatchObject([
    {
      outcome: "refused",
      code: "output_limit",
      parameters: { count: 1, bytes: 1, refused: "artifacts" },
      files: [{ name: "kept" }],
    },
  ]);
  await run(`await cyrnel.files.write("most", "y".repeat(45_000))`);
  const full = await run(`await cyrnel.files.write("more", "z".repeat(45_000))`);
  expect(await recordsOf(full)).toMatchObject([
    {
      outcome: "refused",
      code: "storage_full",
      parameters: { count: 0, bytes: 0, refused: "quota" },
      files: [],
    },
  ]);
});
