/** Files of a script past its sandbox: sent by a tool, and answers of tools that become files, in both environments. */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { BUILTIN_MODULES } from "#api/components/modules/builtins.ts";
import { createContents } from "#api/files/contents/contents.ts";
import { sweepFiles } from "#api/files/sweep.ts";
import { type ApprovalsServer, startApprovalsServer } from "./approvals/server.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import { until } from "./processes-server.ts";

const MEBIBYTE = 1024 * 1024;
const SECRET = "planted-secret-of-the-files-7731";
const content = (bytes: number) =>
  Buffer.from(Uint8Array.from({ length: bytes }, (_, index) => (index * 7 + (index >> 10)) % 251));
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

interface Received {
  url: string;
  length: string | undefined;
  size: number;
  digest: string;
  body: Buffer;
}
const received: Received[] = [];
/** What a path answers with; else what was received. */
const answers = new Map<string, (response: ServerResponse) => void>();

const upstream = createServer(async (incoming: IncomingMessage, response: ServerResponse) => {
  const pieces: Buffer[] = [];
  for await (const piece of incoming) pieces.push(piece);
  const body = Buffer.concat(pieces);
  const seen = { size: body.length, digest: sha256(body) };
  received.push({ url: incoming.url ?? "", length: incoming.headers["content-length"], ...seen, body });
  const answer = answers.get(new URL(incoming.url ?? "", "http://x").searchParams.get("way") ?? "");
  if (answer !== undefined) return answer(response);
  response.setHeader("content-type", "application/json").end(JSON.stringify(seen));
});

const way = { name: "way", in: "query", schema: { type: "string" } };
const describeDocument = (url: string) => ({
  openapi: "3.1.0",
  info: { title: "Store", version: "1" },
  servers: [{ url }],
  components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
  paths: {
    "/up": {
      put: {
        operationId: "upload",
        "x-destructive": false,
        requestBody: { content: { "application/octet-stream": {} } },
        responses: { 200: { description: "ok" } },
      },
    },
    "/form": {
      post: {
        operationId: "form",
        "x-destructive": false,
        requestBody: {
          content: {
            "multipart/form-data": {
              schema: {
                type: "object",
                properties: { note: { type: "string" }, file: { type: "string", format: "binary" } },
              },
            },
          },
        },
        responses: { 200: { description: "ok" } },
      },
    },
    "/asked": {
      put: {
        operationId: "ask_upload",
        requestBody: { content: { "application/octet-stream": {} } },
        responses: { 200: { description: "ok" } },
      },
    },
    "/down": {
      get: { operationId: "download", parameters: [way], responses: { 200: { description: "ok" } } },
      post: { operationId: "ask_download", parameters: [way], responses: { 200: { description: "ok" } } },
    },
  },
});

describe.each(["typescript-process", "typescript-ivm"])("%s", (environmentId) => {
  let database: TestDatabase;
  let on: ApprovalsServer;
  beforeAll(async () => {
    if (!upstream.listening) await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
    database = await createTestDatabase({ maxConnections: 12 });
    on = await start();
    const ok = async (answer: Promise<{ status: number; text: string }>) => {
      const { status, text } = await answer;
      expect(status, text).toBeLessThan(300);
    };
    await ok(
      on.server.post("/services", {
        id: "store",
        adapter: "openapi",
        content: JSON.stringify(describeDocument(url)),
      }),
    );
    await ok(on.server.patch("/services/store/secrets", [{ op: "add", path: "/token", value: SECRET }]));
    await ok(on.server.post("/services/store/enabled", { enabled: true }));
    await ok(on.server.post("/policies", { servicePattern: "store", toolPattern: "ask_*", decision: "ask" }));
  });
  beforeEach(() => {
    received.length = 0;
    answers.clear();
  });
  afterAll(async () => {
    await on?.[Symbol.asyncDispose]();
    await database?.drop();
    upstream.closeAllConnections();
    upstream.close();
  });

  async function start(): Promise<ApprovalsServer> {
    const started = await startApprovalsServer({
      database,
      environments: BUILTIN_MODULES.filter(({ type, id }) => type === "environment" || id === "openapi"),
      environment: {
        CYRNEL_APPROVAL_HOLD_MS: "0",
        CYRNEL_EGRESS_ALLOW: "127.0.0.1",
        CYRNEL_MAX_WORKSPACE_BYTES: String(32 * MEBIBYTE),
      },
      functions: {
        text: { invoke: () => `the secret is ${SECRET}` },
        data: { invoke: () => ({ list: [1, 2], token: SECRET }) },
        delete_data: { destructive: true, invoke: () => ({ deleted: true }) },
        slow: { invoke: ({ signal }) => new Promise((_, no) => signal?.addEventListener("abort", no)) },
      },
    });
    await started.server.post(`/modules/${environmentId}/enabled`, { enabled: true });
    return started;
  }

  const run = async (code: string, body: object = {}) =>
    (await on.agent.send("POST", "/processes", { block: true, code, ...body })).body;
  const artifact = async (id: number, name: string) => on.server.get(`/processes/${id}/artifacts/${name}`);
  const namesOf = ({ artifacts }: { artifacts: { name: string }[] }) => artifacts.map(({ name }) => name);

  async function upload(bytes: Uint8Array): Promise<{ id: string }> {
    const answer = await fetch(`${on.server.url}/files?name=large`, {
      method: "POST",
      headers: { authorization: `Bearer ${on.agent.key}`, "content-type": "application/octet-stream" },
      body: bytes as Uint8Array<ArrayBuffer>,
    });
    return (await answer.json()) as { id: string };
  }

  test("20 MiB go out as a body and as a part, and come in as a file", async () => {
    const bytes = content(20 * MEBIBYTE);
    const { id } = await upload(bytes);
    answers.set("large", (response) => response.end(bytes));
    const record = await run(
      `const body = await tools.store.upload({ body: { file: "in/large.bin" } });
      const part = await tools.store.form({ body: { note: "n", file: { file: "in/large.bin" } } });
      const saved = await tools.store.download({ query: { way: "large" } }, { saveAs: "out/large.bin" });
      const again = await cyrnel.services.store.tools.upload.invoke({ body: { file: "out/large.bin" } });
      const known = await cyrnel.files.stat("out/large.bin");
      return [body.body, part.status, saved.body, again.body, known, (await cyrnel.files.read("out/large.bin", { length: 3 })).length];`,
      { files: { "in/large.bin": { id } } },
    );
    const all = { size: bytes.length, digest: sha256(bytes) };
    expect(record.error ?? null).toBeNull();
    const file = { size: bytes.length, contentType: "application/octet-stream" };
    expect(record.result).toEqual([
      all,
      200,
      { file: "out/large.bin", ...file },
      all,
      { name: "out/large.bin", ...file },
      3,
    ]);
    expect(received.map(({ length, size }) => length === String(size) || size === 0)).not.toContain(false);
    expect(received[1]?.body.includes(bytes)).toBe(true);
    expect(record.artifacts).toEqual([{ name: "out/large.bin", ...file, sha256: all.digest }]);
  });

  test("the trail shows names, sizes and types, and nothing of contents", async () => {
    answers.set("x", (response) => response.end("content that stays away from the trail"));
    const record = await run(
      `await cyrnel.files.write("in.txt", "content that stays away");
      await tools.store.upload({ body: { file: "in.txt" } });
      await tools.store.download({ query: { way: "x" } }, { saveAs: "out.txt" });`,
    );
    const { calls } = (await on.server.get(`/processes/${record.id}/calls`)).body;
    expect(calls).toMatchObject([
      { parameters: { body: { file: "in.txt" } } },
      { result: { status: 200, body: { file: "out.txt", size: 38 } } },
    ]);
    expect(JSON.stringify(calls)).not.toContain("stays away");
  });

  test("any tool's answer can be saved: a text as it is, other data as JSON, without secrets", async () => {
    answers.set("secret", (response) =>
      response.setHeader("content-type", "text/csv").end(`a,b\n${"x".repeat(100_000)}${SECRET}\n`),
    );
    const record = await run(
      `const text = await tools.shop.text({}, { saveAs: "text" });
      const data = await tools.shop.data({}, { saveAs: "data.json" });
      await tools.store.download({ query: { way: "secret" } }, { saveAs: "table" });
      return [text, data, await cyrnel.files.json("data.json"), (await cyrnel.files.text("table")).slice(-10)];`,
    );
    expect(record.error ?? null).toBeNull();
    expect(record.result).toEqual([
      { file: "text", size: 22, contentType: "text/plain" },
      { file: "data.json", size: 33, contentType: "application/json" },
      { list: [1, 2], token: "[secret]" },
      "x[secret]\n",
    ]);
    for (const name of namesOf(record)) {
      expect((await artifact(record.id, name)).text).not.toContain(SECRET);
    }
  });

  test("what the service says of an answer decides nothing", async () => {
    answers.set("hostile", (response) => {
      response.setHeader("content-type", "text/html; charset=utf-7");
      response.setHeader("content-disposition", 'attachment; filename="../../../etc/passwd"');
      response.end("<script>alert(1)</script>");
    });
    const record = await run(
      `const { body } = await tools.store.download({ query: { way: "hostile" } }, { saveAs: "picture.png" });
      return [body, (await cyrnel.files.list()).map(({ name, contentType }) => name + " " + contentType)];`,
    );
    expect(record.result).toEqual([
      { file: "picture.png", size: 25, contentType: "text/html; charset=utf-7" },
      ["picture.png image/png"],
    ]);
    expect(record.artifacts).toMatchObject([{ name: "picture.png", contentType: "image/png" }]);
  });

  test("an answer that breaks off leaves what was there before; one that failed is not saved", async () => {
    answers.set("broken", (response) => {
      response.writeHead(200, { "content-length": "1000" });
      response.write("half");
      setTimeout(() => response.destroy(), 20);
    });
    answers.set("missing", (response) => response.writeHead(404).end("gone"));
    const record = await run(
      `await cyrnel.files.write("kept.txt", "before");
      const tell = (way, saveAs) => tools.store.download({ query: { way } }, { saveAs }).then(({ body }) => body, (error) => error.code);
      const told = [await tell("broken", "kept.txt"), await tell("broken", "half.txt"), await tell("missing", "half.txt")];
      return [told, (await cyrnel.files.list()).map(({ name, size }) => name + " " + size), await cyrnel.files.text("kept.txt")];`,
    );
    expect(record.result).toEqual([["unreachable", "unreachable", "http_error"], ["kept.txt 6"], "before"]);
    expect(namesOf(record)).toEqual(["kept.txt"]);
  });

  test("what is wrong is told before anything is called", async () => {
    const record = await run(
      `const tell = async (attempt) => { try { await attempt(); return "done"; } catch (error) { return (error.code ?? error.name) + ": " + error.message; } };
      await cyrnel.files.write("folder/file", "x");
      const { download } = tools.store;
      return [
        await tell(() => download({}, { saveAs: "../up" })), await tell(() => download({}, { saveAs: "folder" })),
        await tell(() => download({}, { saveAs: 1 })), await tell(() => download({}, { as: "x" })),
        await tell(() => download({}, "x")), await tell(() => download({}, { saveAs: "x", more: 1 })),
        await tell(() => tools.store.upload({ body: { file: "gone" } })),
        await tell(() => Promise.all([{ query: {} }, {}].map(download))),
      ];`,
    );
    const form =
      'TypeError: tools.store.download takes {saveAs: "name of a file", signal: an AbortSignal, throwOnError: false} as its second argument, or none.';
    expect(record.result).toEqual([
      expect.stringMatching(/^invalid_file_name: /),
      expect.stringMatching(/^invalid_file_name: .*folder/),
      form,
      form,
      form,
      form,
      'file_not_found: There is no file "gone" in the workspace.',
      "done",
    ]);
    expect(received.map(({ url }) => url)).toEqual(["/down", "/down"]);
  });

  test("a file that changes while a person decides is sent as it was at the call", async () => {
    const id = await on.submit(
      `await cyrnel.files.write("letter.txt", "approved");
      const sending = tools.store.ask_upload({ body: { file: "letter.txt" } });
      await cyrnel.files.write("letter.txt", "changed");
      return [(await sending).body.size, await cyrnel.files.text("letter.txt")];`,
    );
    const [approval = ""] = await on.paused(id);
    const asked = (await on.boss.send("GET", `/approvals/${approval}`)).body;
    expect(asked.parameters).toEqual({ body: { file: "letter.txt" } });
    const digest = sha256(Buffer.from("approved"));
    expect(asked.files).toEqual([{ name: "letter.txt", size: 8, contentType: "text/plain", sha256: digest }]);
    await on.decide(approval, "approve");
    const record = await on.read(id, "?wait=30000");
    expect([record.error ?? null, record.result]).toEqual([null, [8, "changed"]]);
    expect(received.map(({ body }) => body.toString())).toEqual(["approved"]);
  });

  test("a call that is approved on the next server sends the file that was written before", async () => {
    const id = await on.submit(
      `await cyrnel.files.write("letter.txt", "app");
      await cyrnel.files.append("letter.txt", "roved");
      const sending = tools.store.ask_upload({ body: { file: "letter.txt" } });
      await cyrnel.files.remove("letter.txt");
      return (await sending).body.size;`,
    );
    const [approval = ""] = await on.paused(id);
    await on[Symbol.asyncDispose]();
    on = await start();
    await on.decide(approval, "approve");
    const { error, result } = await on.read(id, "?wait=30000");
    expect([error, result]).toEqual([null, 8]);
    expect(received.map(({ body }) => body.toString())).toEqual(["approved"]);
  });

  test("an answer that was saved is there again when the run is repeated on the next server", async () => {
    answers.set("x", (response) => response.end("saved before"));
    answers.set("y", (response) => response.end(content(3 * MEBIBYTE)));
    const id = await on.submit(
      `const { body } = await tools.store.ask_download({ query: { way: "x" } }, { saveAs: "out.txt" });
      const text = await cyrnel.files.text("out.txt");
      await cyrnel.files.write("out.txt", "overwritten");
      const later = await tools.store.download({ query: { way: "y" } }, { saveAs: "large.bin" });
      await tools.shop.delete_data({});
      const size = (await cyrnel.files.stat("large.bin")).size;
      await tools.shop.delete_data({ again: true });
      return [body, text, later.body.size, size, await cyrnel.files.text("out.txt")];`,
    );
    for (const step of ["ask_download", "delete_data", "delete_data"]) {
      const [approval = ""] = await on.paused(id);
      expect((await on.boss.send("GET", `/approvals/${approval}`)).body.toolId).toBe(step);
      await on[Symbol.asyncDispose]();
      on = await start();
      const { pool } = on.server;
      const log = { info() {}, warn() {} };
      await sweepFiles(
        { pool, contents: createContents({ db: pool, bucket: null, log }), ttlDays: 30, log },
        0,
      );
      await on.decide(approval, "approve");
      await until("it goes on", async () => (await on.read(id)).approvals[0] !== approval);
    }
    const record = await on.read(id, "?wait=30000");
    const file = { file: "out.txt", size: 12, contentType: "application/octet-stream" };
    expect([record.error ?? null, record.result]).toEqual([
      null,
      [file, "saved before", 3 * MEBIBYTE, 3 * MEBIBYTE, "overwritten"],
    ]);
    expect(received.map(({ url }) => url)).toEqual(["/down?way=x", "/down?way=y"]);
    expect(record.artifacts).toMatchObject([
      { name: "out.txt", sha256: sha256(Buffer.from("overwritten")) },
      { name: "large.bin", sha256: sha256(content(3 * MEBIBYTE)) },
    ]);
    const kept = await on.server.pool`select from process_saved_answers`;
    expect(kept.length).toBe(0);
  });

  test("an answer that was saved after later writes is put back after them", async () => {
    const held = Promise.withResolvers<ServerResponse>();
    answers.set("late", held.resolve);
    answers.set("now", (response) => {
      void held.promise.then((late) => {
        late.end("saved");
        response.end();
      });
    });
    const id = await on.submit(
      `const { files } = cyrnel;
      const saving = tools.store.download({ query: { way: "late" } }, { saveAs: "out.txt" });
      await files.append("out.txt", "x");
      const seen = await files.text("out.txt");
      await tools.store.download({ query: { way: "now" } });
      const { body } = await saving;
      await files.append("out.txt", "!");
      await tools.shop.delete_data({});
      return [seen, body.size, await files.text("out.txt")];`,
    );
    const [approval = ""] = await on.paused(id);
    await on[Symbol.asyncDispose]();
    on = await start();
    await on.decide(approval, "approve");
    const record = await on.read(id, "?wait=30000");
    expect([record.error ?? null, record.result]).toEqual([null, ["x", 5, "saved!"]]);
    expect((await artifact(id, "out.txt")).text).toBe("saved!");
    expect(received.length).toBe(2);
  });

  test("the audit trail names what a call has sent and saved, by size and digest", async () => {
    answers.set("large", (response) => response.end(content(2 * MEBIBYTE)));
    answers.set("broken", (response) => {
      response.setHeader("content-length", 100).write("half of it", () => response.destroy());
    });
    const record = await run(
      `await cyrnel.files.write("out/a.bin", "what is sent");
      await tools.store.upload({ body: { file: "out/a.bin" } });
      await tools.store.download({ query: { way: "large" } }, { saveAs: "b.bin" });
      await tools.store.download({ query: { way: "broken" } }, { saveAs: "c.bin" }).catch(() => {});
      await tools.shop.text({});`,
    );
    expect(record).toMatchObject({ exitState: "success" });
    const { records } = (await on.server.get(`/audit?processId=${record.id}&action=tool.call`)).body;
    const files = records.map((found: { files: unknown }) => found.files).reverse();
    // Attempts at the download that breaks off, none of them whole.
    for (const { name, sha256: digest } of files[2]) expect([name, digest]).toEqual(["c.bin", null]);
    expect(files).toEqual([
      [{ name: "out/a.bin", use: "sent", size: 12, sha256: sha256(Buffer.from("what is sent")) }],
      [{ name: "b.bin", use: "saved", size: 2 * MEBIBYTE, sha256: sha256(content(2 * MEBIBYTE)) }],
      expect.any(Array),
      [],
    ]);
  });

  /** A run whose download ends while it stands still, so that only the database knows what was saved. */
  async function pauseWhileSaving(): Promise<{ id: number; approval: string }> {
    const held = Promise.withResolvers<ServerResponse>();
    answers.set("late", held.resolve);
    const id = await on.submit(
      `const saving = tools.store.download({ query: { way: "late" } }, { saveAs: "out.txt" });
      await cyrnel.files.append("out.txt", "written before");
      const before = await cyrnel.files.text("out.txt");
      await tools.shop.delete_data({});
      const { body } = await saving;
      return [before, body.size, await cyrnel.files.text("out.txt")];`,
    );
    const [approval = ""] = await on.paused(id);
    (await held.promise).end("saved");
    await until("its child is given up", async () => {
      const [row] = await on.server.pool`select detached from process_checkpoints where process_id = ${id}`;
      return row?.detached === true;
    });
    return { id, approval };
  }

  test("an answer that was saved while the run stood still is there when it is repeated", async () => {
    const { id, approval } = await pauseWhileSaving();
    await on.decide(approval, "approve");
    const record = await on.read(id, "?wait=30000");
    expect([record.error ?? null, record.result]).toEqual([null, ["written before", 5, "saved"]]);
    expect(received.length).toBe(1);
  });

  test("a repetition is not told of a file that it does not have", async () => {
    const { id, approval } = await pauseWhileSaving();
    await on.server.pool`delete from process_saved_answers where process_id = ${id}`;
    await on.decide(approval, "approve");
    const record = await on.read(id, "?wait=30000");
    expect(record).toMatchObject({ exitState: "failed", reason: "replay_divergence" });
    expect(record.error).toContain("was saved as a file");
    expect(received.length).toBe(1);
  });

  test("a run that is repeated with another content than the person was shown sends nothing", async () => {
    const [shown, other] = [await upload(Buffer.from("approved")), await upload(Buffer.from("exchanged"))];
    const id = await on.submit(
      `return (await tools.store.ask_upload({ body: { file: "in.txt" } })).body.size;`,
      {
        files: { "in.txt": { id: shown.id } },
      },
    );
    const [approval = ""] = await on.paused(id);
    const { files } = (await on.boss.send("GET", `/approvals/${approval}`)).body;
    expect(files).toMatchObject([{ name: "in.txt", size: 8, sha256: sha256(Buffer.from("approved")) }]);
    await until("its child is given up", async () => {
      const [row] = await on.server.pool`select detached from process_checkpoints where process_id = ${id}`;
      return row?.detached === true;
    });
    await on.server.pool`
      update processes set files = replace(files::text, ${shown.id}, ${other.id})::json where id = ${id}`;
    await on.decide(approval, "approve");
    const record = await on.read(id, "?wait=30000");
    expect(record).toMatchObject({ exitState: "failed", reason: "replay_divergence" });
    expect(received).toEqual([]);
  });

  test("more than a workspace holds ends the run with output_limit; nothing of it is kept", async () => {
    answers.set("endless", (response) => {
      const write = () => {
        while (!response.destroyed && response.write(Buffer.alloc(MEBIBYTE)));
        if (!response.destroyed) response.once("drain", write);
      };
      write();
    });
    const record = await run(
      `await cyrnel.files.write("kept", "x"); await tools.store.download({ query: { way: "endless" } }, { saveAs: "large" }).catch(() => {}); return "not reached"`,
    );
    expect([record.exitState, record.reason, namesOf(record)]).toEqual(["failed", "output_limit", ["kept"]]);
  });

  test("a kill ends the download, and leaves no half file", async () => {
    const gone = Promise.withResolvers<void>();
    answers.set("slow", (response) => {
      response.write("half");
      response.on("close", gone.resolve);
    });
    const id = await on.submit(
      `await cyrnel.files.write("kept", "x"); await tools.store.download({ query: { way: "slow" } }, { saveAs: "half" });`,
    );
    await until("the download has begun", async () => received.length === 1);
    await on.agent.send("POST", `/processes/${id}/signals/kill`);
    await gone.promise;
    const record = await on.read(id, "?wait=30000");
    expect([record.exitState, namesOf(record)]).toEqual(["canceled", ["kept"]]);
  });

  test("a call without a run has no files", async () => {
    const path = "/tools/store/upload/invoke";
    const sent = await on.server.post(path, { parameters: { body: { file: "x" } } });
    expect([sent.status, sent.body.code]).toEqual([502, "tool_failed"]);
    expect(sent.body.error).toContain("Only a script can send a file");
    const saved = await on.server.post(path, { parameters: {}, saveAs: "x" });
    expect([saved.status, saved.body.code]).toEqual([400, "invalid_request"]);
    expect(received).toEqual([]);
  });
});
