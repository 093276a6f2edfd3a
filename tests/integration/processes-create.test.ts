import { createHash } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createdSchema, processSchema } from "#api/processes/model/schemas.ts";
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

beforeAll(async () => {
  database = await createTestDatabase();
  server = await startProcessesServer({
    databaseUrl: database.url,
    variables: {
      CYRNEL_MAX_TIMEOUT_MS: "60000",
      CYRNEL_MAX_CPU_MS: "5000",
      CYRNEL_MAX_CODE_SIZE_BYTES: "2000",
    },
  });
});
afterEach(() => expectNothingLeft(server));
afterAll(async () => {
  await server?.stop();
  await database?.drop();
});

const countRows = async () => (await server.pool`select id from processes`).length;

describe("POST /processes", () => {
  test("answers 201 with the id and where it is, without waiting", async () => {
    const answer = await send(server, "POST", "/processes", { code: "gate later" });
    expect(answer.status).toBe(201);
    expect(Object.keys(answer.body)).toEqual(["id"]);
    expect(answer.headers.get("location")).toBe(`/processes/${answer.body.id}`);
    server.environment.open("later");
  });

  test("with block answers the whole record of the ended run", async () => {
    const code =
      'print out\nwarn err\noutput {"a":1,"b":[true,null]}\noutput {"a":2}\nreturn {"x":"\\u0000é"}\nusage {"cpuMs":7,"peakMemoryBytes":1234}';
    const answer = await send(server, "POST", "/processes", { code, block: true, ref: "  whole record " });
    expect(answer.status).toBe(201);
    const record = processSchema.strict().parse(answer.body);
    expect(createdSchema.parse(answer.body)).toBeTruthy();
    expect(record).toMatchObject({
      ref: "whole record",
      state: "idle",
      exitState: "success",
      reason: "ok",
      error: null,
      errorDetail: null,
      code,
      options: { timeoutMs: 30_000, memoryMb: 128, cpuMs: 5000 },
      output: { a: 2, b: [true, null] },
      result: { x: "\0é" },
      stdout: "out\n",
      stderr: "err\n",
      truncated: { stdout: false, stderr: false },
      environment: "scripted",
      usage: { cpuMs: 7, peakMemoryBytes: 1234, toolCalls: 0, queuedMs: 0 },
      approvals: [],
    });
    for (const time of [record.createdAt, record.startedAt, record.completedAt]) {
      expect(new Date(time ?? "").toISOString()).toBe(time);
    }
    expect(await read(server, record.id)).toEqual(answer.body);
  });

  test("autorun:false stores without running, block or not", async () => {
    const answer = await send(server, "POST", "/processes", { code: "print x", autorun: false, block: true });
    expect([answer.status, Object.keys(answer.body)]).toEqual([201, ["id"]]);
    const record = await read(server, Number(answer.body.id));
    expect(record).toMatchObject({
      state: "idle",
      exitState: null,
      reason: null,
      startedAt: null,
      completedAt: null,
      result: null,
    });
    expect(record.output).toEqual({});
    expect("ref" in record).toBe(false);
  });

  test("clamps limits to the maxima and stores what is in force", async () => {
    const over = await runScript(server, "", {
      options: { timeout: 999_999_999_999, memoryMb: 99_999, cpuMs: 99_999 },
    });
    expect(over.options).toEqual({ timeoutMs: 60_000, memoryMb: 512, cpuMs: 5000 });
    expect(server.environment.inputs.at(-1)?.options).toMatchObject({
      timeoutMs: 60_000,
      memoryMb: 512,
      cpuMs: 5000,
    });
    const none = await runScript(server, "", { options: { timeout: null } });
    expect(none.options.timeoutMs).toBe(60_000);
    const own = await runScript(server, "", {
      options: { timeout: 1, memoryMb: 64, cpuMs: 1 },
      ref: "own limits",
    });
    expect(own.options).toEqual({ timeoutMs: 1, memoryMb: 64, cpuMs: 1 });
    expect(server.environment.inputs.at(-1)).toMatchObject({ eid: own.id, ref: "own limits" });
  });

  test("a ref is unique", async () => {
    await submit(server, "", { ref: "taken" });
    const again = await send<ErrorBody>(server, "POST", "/processes", { code: "", ref: " taken" });
    expect([again.status, again.body.code]).toEqual([409, "ref_taken"]);
    expect(again.body.error).toContain('"taken"');
    const refs = await Promise.all(
      Array.from({ length: 20 }, () => send(server, "POST", "/processes", { code: "", ref: "raced" })),
    );
    expect(refs.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(refs.filter(({ status }) => status === 409)).toHaveLength(19);
  });

  test.each([
    ["no code", {}, "body.code"],
    ["code of another type", { code: 7 }, "body.code"],
    ["code over the limit", { code: "x".repeat(2001) }, "body.code"],
    ["code over the limit in bytes", { code: "é".repeat(1001) }, "body.code"],
    ["a NUL character in code", { code: "a\0b" }, "body.code"],
    ["half a surrogate pair in code", '{"code":"\\ud800"}', "body.code"],
    ["an empty ref", { code: "", ref: "  " }, "body.ref"],
    ["a ref of another type", { code: "", ref: null }, "body.ref"],
    ["a NUL character in ref", { code: "", ref: "a\0" }, "body.ref"],
    ["a ref that is too long", { code: "", ref: "r".repeat(501) }, "body.ref"],
    ["a timeout of 0", { code: "", options: { timeout: 0 } }, "body.options.timeout"],
    ["a negative timeout", { code: "", options: { timeout: -1 } }, "body.options.timeout"],
    ["a fraction as timeout", { code: "", options: { timeout: 1.5 } }, "body.options.timeout"],
    ["a timeout as text", { code: "", options: { timeout: "30" } }, "body.options.timeout"],
    ["a memory limit of 0", { code: "", options: { memoryMb: 0 } }, "body.options.memoryMb"],
    ["null as CPU limit", { code: "", options: { cpuMs: null } }, "body.options.cpuMs"],
    ["autorun as text", { code: "", autorun: "true" }, "body.autorun"],
    ["block as number", { code: "", block: 1 }, "body.block"],
    ["an unknown key", { code: "", colour: "red" }, "body"],
    ["an unknown option", { code: "", options: { retries: 3 } }, "body.options"],
    ["a list", [], "body"],
  ])("refuses %s", async (_name, body, path) => {
    const before = await countRows();
    const answer = await send<ErrorBody>(server, "POST", "/processes", body);
    expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"]);
    expect(answer.body.issues?.map((issue) => issue.path)).toContain(path);
    expect(await countRows()).toBe(before);
  });

  test("refuses what is no JSON, and too much of it", async () => {
    const broken = await send<ErrorBody>(server, "POST", "/processes", '{"code":');
    expect([broken.status, broken.body.code]).toEqual([400, "invalid_json"]);
    const large = await send<ErrorBody>(server, "POST", "/processes", { code: "x".repeat(2_100_000) });
    expect([large.status, large.body.code]).toEqual([413, "body_too_large"]);
    const type = await send<ErrorBody>(server, "POST", "/processes", undefined, {
      body: "code",
      headers: { "content-type": "text/plain" },
    });
    expect([type.status, type.body.code]).toEqual([415, "unsupported_media_type"]);
  });

  test("exactly the largest code is accepted", async () => {
    const code = `${"\n".repeat(1998)}é`;
    const id = await submit(server, code, { autorun: false });
    expect((await send(server, "GET", `/processes/${id}/code`)).text).toBe(code);
  });

  test("a client that goes away while blocking leaves nothing behind, and the run goes on", async () => {
    const gone = new AbortController();
    const request = fetch(`${server.url}/processes`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code: "gate gone\nprint went on", block: true, ref: "gone client" }),
      signal: gone.signal,
    });
    const held = await until("it runs", () => server.registry.all()[0] ?? false);
    await until("it is waited for", () => server.service.health().listeners === 1);
    gone.abort();
    await expect(request).rejects.toThrow();
    await until("nobody listens", () => server.service.health().listeners === 0);
    server.environment.open("gone");
    expect(await read(server, held.id, "?wait=10000")).toMatchObject({
      exitState: "success",
      stdout: "went on\n",
    });
  });
});

describe("Idempotency-Key", () => {
  const post = (key: string, body: unknown) =>
    send<{ id: number } & ErrorBody>(server, "POST", "/processes", body, {
      headers: { "idempotency-key": key },
    });

  test("the same key and body answer the first process again, also with block", async () => {
    const body = { code: "print once", block: true };
    const first = await post("key 1", body);
    const second = await post("key 1", { block: true, code: "print once" });
    expect(second.status).toBe(201);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get("location")).toBe(`/processes/${first.body.id}`);
    expect(server.environment.inputs.filter(({ eid }) => eid === first.body.id)).toHaveLength(1);
  });

  test("another body is refused", async () => {
    await post("key 2", { code: "print a" });
    const answer = await post("key 2", { code: "print b" });
    expect([answer.status, answer.body.code]).toEqual([422, "idempotency_mismatch"]);
  });

  test.each([
    // What the version before has stored of each body.
    [{ code: "print once" }, "99d29be54d82db6bf1782b8b87e9a76c2790b1ffda2e45f484bea82a59c34688"],
    [
      { options: { cpuMs: 5, timeout: 1000 }, priority: 3, code: "print once", ref: " r ", autorun: false },
      "d6f825af75d2d1357a99049c07a11b1b1829505c478b1f283a408e8e86e52a85",
    ],
  ])("a key that the version before has stored is known after an upgrade: %j", async (body, hash) => {
    const first = await post("key old", body);
    await server.pool`update idempotency_keys set body_hash = decode(${hash}, 'hex') where key = 'key old'`;
    expect((await post("key old", body)).body).toEqual(first.body);
    expect((await post("key old", { ...body, priority: 9 })).body.code).toBe("idempotency_mismatch");
    await read(server, first.body.id, "?wait=10000");
    expect((await send(server, "DELETE", `/processes/${first.body.id}`)).status).toBe(204);
  });

  test("what is stored of a body is what was sent: no field that a version fills in changes it", async () => {
    const sent = { options: { memoryMb: 64 }, code: "print sent" };
    const { id } = (await post("key sent", sent)).body;
    const [row] = await server.pool<
      { hash: string }[]
    >`select encode(body_hash, 'hex') as hash from idempotency_keys where process_id = ${id}`;
    const text = '["body",{"code":"print sent","options":{"memoryMb":64}}]';
    expect(row?.hash).toBe(createHash("sha256").update(text).digest("hex"));
  });

  test("concurrent duplicates create one process, and each waits for its end", async () => {
    const before = await countRows();
    const answers = Promise.all(
      Array.from({ length: 30 }, () => post("key 3", { code: "gate race\nreturn 1", block: true })),
    );
    await until("it runs", () => server.registry.size === 1);
    server.environment.open("race");
    const ids = new Set(
      (await answers).map(
        ({ status, body }) => `${status} ${body.id} ${(body as { result?: unknown }).result}`,
      ),
    );
    expect(ids.size).toBe(1);
    expect(await countRows()).toBe(before + 1);
  });

  test("a key is free again when its process is deleted, when it is 24 hours old, or when nothing was stored", async () => {
    const first = await post("key 4", { code: "", autorun: false });
    await send(server, "DELETE", `/processes/${first.body.id}`);
    const second = await post("key 4", { code: "print other", autorun: false });
    expect(second.body.id).not.toBe(first.body.id);
    await server.pool`update idempotency_keys set created_at = now() - interval '24 hours' where process_id = ${second.body.id}`;
    const third = await post("key 4", { code: "third", autorun: false });
    expect(third.status).toBe(201);
    expect(third.body.id).not.toBe(second.body.id);
    await submit(server, "", { ref: "key ref" });
    expect((await post("key 5", { code: "", ref: "key ref" })).body.code).toBe("ref_taken");
    expect((await post("key 5", { code: "", ref: "another ref" })).status).toBe(201);
  });

  test.each([
    ["", 201],
    ["k".repeat(200), 201],
    ["k".repeat(201), 400],
    ["tab\there", 400],
    ["\u00e9", 400],
  ])("%j answers %i", async (key, status) => {
    const headers = new Headers({ "content-type": "application/json" });
    headers.set("idempotency-key", key);
    const answer = await send<ErrorBody>(
      server,
      "POST",
      "/processes",
      { code: "", autorun: false },
      { headers: Object.fromEntries(headers) },
    );
    expect(answer.status).toBe(key === "" ? 400 : status);
    if (answer.status === 400) expect(answer.body.issues?.[0]?.path).toBe("headers.idempotency-key");
  });
});
