/** What `GET /metrics` says of files: those that came, those that runs left, and those that a limit kept out. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BUILTIN_MODULES } from "#api/components/modules/builtins.ts";
import { startServer, type TestServer } from "./harness/server.ts";

const MAX_FILE_BYTES = 40_000;
const MAX_WORKSPACE_BYTES = 50_000;
const MAX_STORED_BYTES = 300_000;

let server: TestServer;
beforeAll(async () => {
  server = await startServer({
    builtins: BUILTIN_MODULES.filter(({ id }) => id === "typescript-process"),
    environment: {
      CYRNEL_MAX_FILE_BYTES: String(MAX_FILE_BYTES),
      CYRNEL_MAX_WORKSPACE_BYTES: String(MAX_WORKSPACE_BYTES),
      CYRNEL_MAX_STORED_BYTES: String(MAX_STORED_BYTES),
      CYRNEL_MAX_SPOOL_BYTES: "75000",
    },
  });
  await server.post("/modules/typescript-process/enabled", { enabled: true });
});
afterAll(() => server.close());

/** Of the metric, by its label; without one: `""`. */
async function read(metric: string): Promise<Record<string, number>> {
  const { text } = await server.get("/metrics");
  const lines = text.matchAll(new RegExp(`^cyrnel_${metric}(?:\\{[a-z]+="([a-z_]+)"\\})? (\\d+)$`, "gm"));
  return Object.fromEntries([...lines].map(([, label = "", value]) => [label, Number(value)]));
}

const upload = (bytes: Buffer) => server.request("POST", "/files", { body: bytes, headers: {} });
const run = async (code: string) => (await server.post("/processes", { code, block: true })).body;
const write = (size: number, name = "out.txt") =>
  `await cyrnel.files.write(${JSON.stringify(name)}, "x".repeat(${size}));`;

test("a limit that was never met is shown with 0, so that an alert sees the first refusal", async () => {
  const none = { quota: 0, workspace: 0, artifacts: 0, spool: 0, file_size: 0, uploads: 0 };
  expect(await read("file_refusals_total")).toEqual(none);
  expect([await read("artifacts_total"), await read("artifact_bytes_total")]).toEqual([{ "": 0 }, { "": 0 }]);
});

test("what runs left is counted, also of one that failed", async () => {
  await run(`${write(1000, "a.txt")} ${write(500, "b.txt")} ${write(200, "a.txt")}`);
  await run(`${write(30, "c.txt")} throw new Error("afterwards")`);
  await run("return 1");
  expect([await read("artifacts_total"), await read("artifact_bytes_total")]).toEqual([
    { "": 3 },
    { "": 730 },
  ]);
});

test("each limit counts what it refuses, once", async () => {
  expect((await upload(randomBytes(MAX_FILE_BYTES))).status).toBe(201);
  const files = { "a.txt": { text: "y".repeat(MAX_WORKSPACE_BYTES + 1) } };
  const refused = [
    await upload(randomBytes(MAX_FILE_BYTES + 1)),
    await server.post("/processes", { code: "return 1", files }),
  ];
  expect(refused.map(({ status }) => status)).toEqual([413, 400]);
  const runs = [
    await run(write(MAX_WORKSPACE_BYTES + 1)),
    await run(
      `await Promise.allSettled([1, 2, 3].map((n) => cyrnel.files.write("f" + n, "x".repeat(30_000))))`,
    ),
    await run(`${write(45_000)} ${write(45_000)}`),
  ];
  expect(runs.map(({ reason }) => reason)).toEqual(["output_limit", "output_limit", "output_limit"]);
  expect(await read("file_refusals_total")).toMatchObject({
    workspace: 1,
    artifacts: 2,
    spool: 1,
    file_size: 1,
    quota: 0,
  });
});

test("what a key may keep is counted for uploads, for given files and for what runs leave", async () => {
  const before = await read("artifacts_total");
  const { storedBytes } = (await server.get("/files")).body;
  for (let left = MAX_STORED_BYTES - storedBytes; left > 0; left -= MAX_FILE_BYTES) {
    expect((await upload(randomBytes(Math.min(left, MAX_FILE_BYTES)))).status).toBe(201);
  }
  const files = { "a.txt": { text: "z" } };
  const refused = [
    await upload(randomBytes(1)),
    await server.post("/processes", { code: "return 1", files }),
  ];
  expect(refused.map(({ body }) => body.code)).toEqual(["storage_full", "storage_full"]);
  expect((await run(write(10))).reason).toBe("output_limit");
  expect((await read("file_refusals_total")).quota).toBe(3);
  expect(await read("artifacts_total")).toEqual(before);
});
