/** Files of runs over HTTP: what a process is given reaches its script, and what that writes is kept, in both environments. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BUILTIN_MODULES } from "#api/components/modules/builtins.ts";
import { processSchema } from "#api/processes/model/schemas.ts";
import { type ApprovalsServer, startApprovalsServer } from "./approvals/server.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import { until } from "./processes-server.ts";

const MAX_BYTES = 4 * 1024 * 1024;
const sha256 = (bytes: string | Uint8Array) => createHash("sha256").update(bytes).digest("hex");

describe.each(["typescript-process", "typescript-ivm"])("%s", (environmentId) => {
  let database: TestDatabase;
  let on: ApprovalsServer;
  beforeAll(async () => {
    database = await createTestDatabase({ maxConnections: 12 });
    on = await start();
  });
  afterAll(async () => {
    await on?.[Symbol.asyncDispose]();
    await database?.drop();
  });

  async function start(): Promise<ApprovalsServer> {
    const started = await startApprovalsServer({
      database,
      environments: BUILTIN_MODULES.filter(({ type }) => type === "environment"),
      environment: { CYRNEL_APPROVAL_HOLD_MS: "0", CYRNEL_MAX_WORKSPACE_BYTES: String(MAX_BYTES) },
    });
    await started.server.post(`/modules/${environmentId}/enabled`, { enabled: true });
    return started;
  }

  const post = async (body: object) =>
    (await on.agent.send("POST", "/processes", { block: true, ...body })).body;
  const artifact = async (id: number, name: string) =>
    (await on.server.get(`/processes/${id}/artifacts/${name}`)).text;
  const namesOf = ({ artifacts }: { artifacts: { name: string }[] }) => artifacts.map(({ name }) => name);

  test("a script reads what the process was given and leaves artifacts", async () => {
    const record = await post({
      code: `
        const { files } = cyrnel;
        let sum = 0;
        for await (const line of files.lines("in/orders.csv")) sum += Number(line.split(",")[1]);
        await files.write("out/sum.json", { sum });
        await files.append("in/log.txt", "summed\\n");
        return [sum, [...await files.read("in/bytes")]];`,
      files: {
        "in/orders.csv": { text: "a,1\nb,41" },
        "in/log.txt": { text: "given\n" },
        "in/bytes": { base64: Buffer.from([0, 255]).toString("base64") },
      },
    });
    expect(record).toMatchObject({
      exitState: "success",
      result: [42, [0, 255]],
      environment: environmentId,
    });
    expect(processSchema.parse(record).artifacts).toEqual([
      { name: "out/sum.json", size: 10, sha256: sha256('{"sum":42}'), contentType: "application/json" },
      { name: "in/log.txt", size: 13, sha256: sha256("given\nsummed\n"), contentType: "text/plain" },
    ]);
    expect((await on.read(record.id)).artifacts).toEqual(record.artifacts);
    expect(await artifact(record.id, "out/sum.json")).toBe('{"sum":42}');
    expect(await artifact(record.id, "in/log.txt")).toBe("given\nsummed\n");
    const plain = await post({ code: "return 1" });
    expect([plain.files, plain.artifacts]).toEqual([[], []]);
  });

  test("what a run leaves takes the place of what the one before left", async () => {
    const code = `const before = await cyrnel.files.list(); await cyrnel.files.write(cyrnel.input, "x"); return before.length`;
    const first = await post({ code, input: "a.txt", files: { given: { text: "" } } });
    const second = await on.agent.send("POST", `/processes/${first.id}/signals/run`, {
      force: true,
      block: true,
      input: "b.txt",
    });
    expect([first.result, namesOf(first)]).toEqual([1, ["a.txt"]]);
    expect([second.body.result, namesOf(second.body)]).toEqual([1, ["b.txt"]]);
  });

  test("what was complete when a run failed or was killed is kept", async () => {
    const failed = await post({ code: `await cyrnel.files.write("a.txt", "kept"); throw new Error("no")` });
    expect([failed.exitState, namesOf(failed)]).toEqual(["failed", ["a.txt"]]);
    const id = await on.submit(
      `await cyrnel.files.write("a.txt", "kept"); console.log("written"); await new Promise((done) => setTimeout(done, 60_000))`,
    );
    await until("the script has written", async () => (await on.read(id)).stdout === "written\n");
    await on.agent.send("POST", `/processes/${id}/signals/kill`);
    const killed = await on.read(id, "?wait=30000");
    expect([killed.exitState, namesOf(killed)]).toEqual(["canceled", ["a.txt"]]);
    expect(await artifact(id, "a.txt")).toBe("kept");
  });

  test("writing more than a workspace holds ends the run with output_limit", async () => {
    const record = await post({
      code: `await cyrnel.files.write("kept.txt", "kept"); await cyrnel.files.write("large.txt", "x".repeat(${MAX_BYTES}))`,
    });
    expect([record.exitState, record.reason, namesOf(record)]).toEqual([
      "failed",
      "output_limit",
      ["kept.txt"],
    ]);
    expect(record.error).toContain(`${MAX_BYTES} bytes are kept`);
  });

  test("a run that waits for a person reads and writes its files again on the next server", async () => {
    const code = `
      const { files } = cyrnel;
      const before = await files.text("given.txt");
      await files.write("out/before.txt", before.toUpperCase());
      await tools.shop.delete_item({ name: "x" });
      await files.append("out/before.txt", " and after");
      return [await files.text("given.txt"), await files.text("out/before.txt")];`;
    const { body } = await on.agent.send("POST", "/processes", {
      code,
      files: { "given.txt": { text: "given" } },
    });
    const [approval = ""] = await on.paused(body.id);
    await on[Symbol.asyncDispose]();
    on = await start();
    await on.decide(approval, "approve");
    const record = await on.read(body.id, "?wait=30000");
    expect(record).toMatchObject({ exitState: "success", result: ["given", "GIVEN and after"] });
    expect(namesOf(record)).toEqual(["out/before.txt"]);
    expect(await artifact(body.id, "out/before.txt")).toBe("GIVEN and after");
  });

  test("a script imports files of its process, under the name that it has among them", async () => {
    const files = {
      "lib/tax.ts": {
        text: 'import { rate } from "../rates.json"; export const tax = (net: number) => net * rate;',
      },
      "rates.json": { text: '{ "rate": 0.19 }' },
      "wrong.ts": { text: "export const a = 1;\n\nexport const = 2;" },
      "fails.ts": { text: "export function fail() {\n  throw new TypeError('no');\n}" },
    };
    const top = await post({ code: 'import { tax } from "./lib/tax.ts"; return tax(100)', files });
    expect([top.exitState, top.result, top.name]).toEqual(["success", 19, null]);
    const below = await post({
      code: 'import { tax } from "./tax.ts"; return tax(100)',
      name: "lib/main.ts",
      files,
    });
    expect([below.exitState, below.result, below.name]).toEqual(["success", 19, "lib/main.ts"]);
    expect((await on.read(below.id)).name).toBe("lib/main.ts");

    const wrong = await post({ code: 'import { a } from "./wrong.ts"; return a', files });
    expect([wrong.exitState, wrong.reason]).toEqual(["failed", "syntax_error"]);
    expect(wrong.errorDetail).toMatchObject({ file: "wrong.ts", line: 3, column: 14 });
    const fails = await post({
      code: '\nimport { fail } from "../fails.ts";\nfail();',
      name: "src/main.ts",
      files,
    });
    expect([fails.reason, fails.error]).toEqual(["script_error", "no"]);
    expect(fails.errorDetail).toMatchObject({ name: "TypeError", file: "fails.ts", line: 2, column: 9 });
    expect(fails.errorDetail.stack).toMatch(/fails\.ts:2:9.*\n.*src\/main\.ts:3:1/);

    const refused = await on.agent.send("POST", "/processes", { code: "return 1", name: "../x.ts" });
    expect(refused.status).toBe(400);
    expect(JSON.stringify(refused.body)).toContain("body.name");
  });

  test("a run that waits for a person imports its files again on the next server", async () => {
    const { body } = await on.agent.send("POST", "/processes", {
      code: `import { ask } from "../lib/ask.ts"; import { word } from "./word.ts"; return [await ask(word), word]`,
      name: "src/main.ts",
      files: {
        "lib/ask.ts": { text: "export const ask = (name: string) => tools.shop.delete_item({ name });" },
        "src/word.ts": { text: 'export const word = "x" + String(Math.random()).slice(0, 0);' },
      },
    });
    const [approval = ""] = await on.paused(body.id);
    await on[Symbol.asyncDispose]();
    on = await start();
    await on.decide(approval, "approve");
    const record = await on.read(body.id, "?wait=30000");
    expect([record.exitState, record.result[1], record.error]).toEqual(["success", "x", null]);
  });

  test("an upload of several chunks arrives whole, and leaves whole", async () => {
    const bytes = Buffer.from(Uint8Array.from({ length: 3_000_000 }, (_, index) => (index * 7) % 251));
    const uploaded = await fetch(`${on.server.url}/files?name=bytes`, {
      method: "POST",
      headers: { authorization: `Bearer ${on.agent.key}`, "content-type": "application/octet-stream" },
      body: bytes,
    });
    const { id } = (await uploaded.json()) as { id: string };
    const record = await post({
      code: `const bytes = await cyrnel.files.read("in"); await cyrnel.files.write("out", bytes.reverse()); return bytes.length`,
      files: { in: { id } },
    });
    expect(record).toMatchObject({ exitState: "success", result: bytes.length });
    expect(record.artifacts[0]).toMatchObject({
      size: bytes.length,
      sha256: sha256(Buffer.from(bytes).reverse()),
    });
  });
});
