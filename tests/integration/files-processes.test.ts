import { createHash, randomBytes, randomUUID } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { extract } from "tar-stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createContents } from "#api/files/contents/contents.ts";
import { sweepFiles } from "#api/files/sweep.ts";
import { createWorkspaces } from "#api/files/workspaces.ts";
import type { ArtifactSource } from "#api/processes/model/files.ts";
import { finishRun } from "#api/processes/store/changes.ts";
import { createRedactor } from "#api/secrets/redactor.ts";
import { SYSTEM_SPOOLS } from "#runner/workspace/spool.ts";
import { startServer, type TestServer } from "./harness/server.ts";

const BOOTSTRAP = "files-bootstrap-key-0123456789";
const MAX_BYTES = 1024 * 1024;
const redactor = createRedactor();

let server: TestServer;
let alice: Record<string, string>;
let bob: Record<string, string>;
let seesAll: Record<string, string>;

beforeAll(async () => {
  server = await startServer({
    builtins: [],
    environment: { CYRNEL_API_KEY: BOOTSTRAP, CYRNEL_MAX_WORKSPACE_BYTES: String(MAX_BYTES) },
  });
  const makeKey = async (...scopes: string[]) => {
    const { body } = await server.post("/keys", { name: "files", scopes });
    return { authorization: `Bearer ${body.key}` };
  };
  alice = await makeKey("processes:read", "processes:write");
  bob = await makeKey("processes:read", "processes:write");
  seesAll = await makeKey("processes:read", "processes:write", "processes:all");
});
afterAll(async () => server.close());

const sha256 = (bytes: string | Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const log = { info() {}, warn() {} };
const contents = () => createContents({ db: server.pool, bucket: null, log });
/** Whose connections contents were stored over. */
const storedFor: (string | undefined)[] = [];
const sweep = () => sweepFiles({ pool: server.pool, contents: contents(), ttlDays: 30, log }, 0);

function submit(files: unknown, headers = alice) {
  return server.post("/processes", { code: "return 1", autorun: false, files }, headers);
}

async function upload(bytes: string | Uint8Array, headers = alice): Promise<string> {
  const type = { "content-type": "text/csv" };
  return (await server.request("POST", "/files", { body: bytes, headers: { ...headers, ...type } })).body.id;
}

function openWorkspaces() {
  const store = contents();
  const put: typeof store.put = (bytes, key) => {
    storedFor.push(key);
    return store.put(bytes, key);
  };
  return createWorkspaces({
    db: server.pool,
    contents: { ...store, put },
    redactor,
    maxWorkspaceBytes: MAX_BYTES,
    spools: SYSTEM_SPOOLS,
    maxStoredBytes: null,
  });
}

/** Ends a run of the process as run.ts does, with these files. */
async function finish(id: number, artifacts: ArtifactSource[]): Promise<void> {
  const workspaces = openWorkspaces();
  const stored = await workspaces.storeArtifacts(artifacts, id);
  if ("refused" in stored) throw new Error(stored.refused);
  const claim = randomUUID();
  await server.pool`update processes set state = 'running', claim = ${claim}::uuid, environment = 'test', queued_at = now(),
      started_at = now(), replica = gen_random_uuid() where id = ${id}`;
  const empty = Buffer.alloc(0);
  await finishRun(server.pool, {
    id,
    claim,
    exitState: "success",
    reason: "ok",
    error: null,
    memoryMb: null,
    usage: { queuedMs: 0, startMs: 0, wallMs: 0, cpuMs: 0, peakMemoryBytes: 0, toolCalls: 0 },
    stdout: empty,
    stderr: empty,
    levels: null,
    truncated: { stdout: false, stderr: false },
    output: "{}",
    outputs: 0,
    result: null,
    calls: [],
    artifacts: stored,
    packages: [],
    warnings: [],
  });
}

function source(name: string, bytes: Uint8Array, contentType = "application/octet-stream"): ArtifactSource {
  return {
    name,
    size: bytes.length,
    contentType,
    read: async (offset, length) => bytes.subarray(offset, offset + length),
  };
}

test("what a run leaves, and the answers it saves, are stored over the connections of its owner's share", async () => {
  const { body } = await submit(undefined);
  const [row] = await server.pool`select key_id as owner from processes where id = ${body.id}`;
  const owner = row?.owner;
  storedFor.length = 0;
  const files = [source("a", randomBytes(10)), source("b", randomBytes(10))];
  await finish(body.id, files);
  await openWorkspaces().store(files, body.id);
  expect(storedFor).toEqual([owner, owner, owner, owner]);
});

describe("files of a process", () => {
  test("are downloaded by their names, whole or in part, by the keys that see the process", async () => {
    const { body } = await submit({
      "in/näme #1?.html": { text: "<script>0123456789" },
      empty: { text: "" },
    });
    const path = `/processes/${body.id}/files/in/n%C3%A4me%20%231%3F.html`;
    const whole = await server.get(path, alice);
    expect([whole.status, whole.text]).toEqual([200, "<script>0123456789"]);
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      "content-type": "text/html",
      "content-disposition":
        "attachment; filename=\"n?me #1?.html\"; filename*=UTF-8''n%C3%A4me%20%231%3F.html",
      "x-content-type-options": "nosniff",
      "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
      etag: `"${sha256("<script>0123456789")}"`,
    });
    const part = await server.get(path, { ...alice, range: "bytes=8-10" });
    expect([part.status, part.text]).toEqual([206, "012"]);
    expect((await server.get(path, { ...alice, "sec-fetch-dest": "script" })).status).toBe(403);
    expect((await server.get(`/processes/${body.id}/files/empty`, alice)).text).toBe("");
    expect((await server.get(path, seesAll)).status).toBe(200);
    expect((await server.get(path, bob)).status).toBe(404);
    const none = await server.get(`/processes/${body.id}/files/none`, alice);
    expect([none.status, none.body.error]).toEqual([
      404,
      `Process ${body.id} was given no such file. GET /processes/${body.id} lists those it was given (\`files\`).`,
    ]);
    expect((await server.get("/processes/999999/files/none")).status).toBe(404);
  });

  test("are uploads, text or base64, and are shown with it", async () => {
    const id = await upload("a,b");
    const { status, body } = await submit({
      "in/orders.csv": { id },
      "note.md": { text: "grüße" },
      "raw.bin": { base64: Buffer.from([0, 255]).toString("base64") },
    });
    expect(status).toBe(201);
    const { body: record } = await server.get(`/processes/${body.id}`, alice);
    expect(record.files).toEqual([
      { name: "in/orders.csv", id, size: 3, contentType: "text/csv" },
      { name: "note.md", id: `sha256-${sha256("grüße")}`, size: 7, contentType: "text/markdown" },
      {
        name: "raw.bin",
        id: `sha256-${sha256(Buffer.from([0, 255]))}`,
        size: 2,
        contentType: "application/octet-stream",
      },
    ]);
    expect(record.artifacts).toEqual([]);
    const { body: list } = await server.get("/processes", alice);
    expect(list.processes[0]).not.toHaveProperty("files");
    const { body: without } = await submit(undefined);
    expect((await server.get(`/processes/${without.id}`, alice)).body.files).toEqual([]);
  });

  test("with an idempotency key are those of the first request", async () => {
    const key = { ...alice, "idempotency-key": randomUUID() };
    const first = await submit({ "a.txt": { text: "a" } }, key);
    const again = await submit({ "a.txt": { text: "a" } }, key);
    expect([first.status, again.status, again.body.id]).toEqual([201, 201, first.body.id]);
    expect((await submit({ "a.txt": { text: "b" } }, key)).status).toBe(422);
  });

  test.each([
    ["../up", "has a segment"],
    ["/etc/passwd", "begins with /"],
    ["a\\b", "backslash"],
    ["e\u0301", "normalization"],
    ["x".repeat(256), "longer than 255"],
    ["", "is empty"],
    ["a\u0000b", "control character"],
  ])("cannot be called %j", async (name, message) => {
    const { status, body } = await submit({ [name]: { text: "x" } });
    expect([status, body.code]).toEqual([400, "invalid_request"]);
    expect(body.error).toContain(message);
  });

  test("have names that are no folders of each other", async () => {
    const { status, body } = await submit({ "a/b": { text: "x" }, a: { text: "y" } });
    expect([status, body.code]).toEqual([400, "invalid_request"]);
    expect((await submit({ "a/b": { text: "x" }, "a/c": { text: "y" }, ab: { text: "z" } })).status).toBe(
      201,
    );
  });

  test("are a thousand at most, and a limit of bytes together", async () => {
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, { text: String(index) }]));
    expect((await submit(many(1000))).status).toBe(201);
    expect((await submit(many(1001))).status).toBe(400);
    const id = await upload(randomBytes(MAX_BYTES));
    expect((await submit({ whole: { id } })).status).toBe(201);
    const { status, body } = await submit({ whole: { id }, more: { text: "x" } });
    expect([status, body.code]).toEqual([400, "invalid_request"]);
    expect(body.error).toContain("CYRNEL_MAX_WORKSPACE_BYTES");
  });

  test.each([
    ["a,b", 'a text: write {"text": "…"}'],
    [{}, "{}"],
    [{ text: "private", base64: "" }, '{"text": string, "base64": string}'],
    [{ content: "private" }, '{"content": string}'],
    [{ text: 5 }, '{"text": number}'],
    [["private"], "a list"],
    [null, "null"],
    [5, "a number"],
  ])("given as %j are refused with what was expected and found", async (given, found) => {
    const { status, body } = await submit({ "a.csv": given });
    const message = `expected one of {"id": "sha256-…"}, {"text": "…"} and {"base64": "…"}; found ${found}`;
    expect([status, body.issues]).toEqual([400, [{ path: "body.files.a.csv", message }]]);
  });

  test("are the caller's own uploads: an id that is not is refused by the name it was given", async () => {
    const id = await upload("of alice alone");
    const { status, body } = await submit({ "x.csv": { id } }, bob);
    expect([status, body.code]).toEqual([400, "invalid_request"]);
    expect(body.issues[0].path).toBe("body.files.x.csv");
    expect((await submit({ "x.csv": { id } }, seesAll)).status).toBe(201);
    expect((await submit({ "x.csv": { id: "nonsense" } })).status).toBe(400);
  });

  test("keep their content until the process goes", async () => {
    const id = await upload("kept by a process");
    const { body } = await submit({ x: { id } });
    await server.request("DELETE", `/files/${id}`, { headers: alice });
    await sweep();
    const digest = id.slice("sha256-".length);
    const opened = await contents().open(digest);
    expect((await opened?.read(0, 100))?.toString()).toBe("kept by a process");
    await server.request("DELETE", `/processes/${body.id}`, { headers: alice });
    await sweep();
    expect(await contents().open(digest)).toBeNull();
  });

  test("are not in the audit trail", async () => {
    await submit({ "x.txt": { text: "words that are nobody's business" } });
    const { text } = await server.get("/audit?action=process.create&limit=200");
    expect(text).not.toContain("nobody's business");
  });
});

describe("artifacts", () => {
  const big = randomBytes(600_000);
  let id: number;
  beforeAll(async () => {
    id = (await submit(undefined)).body.id;
    await finish(id, [
      source("out/größe, 100%.csv", Buffer.from("a;b"), "text/csv"),
      source("big.bin", big),
      source("empty", Buffer.alloc(0)),
      source(`${"long/".repeat(40)}name.txt`, Buffer.from("deep"), "text/plain"),
    ]);
  });

  test("are in the record, and in a list", async () => {
    const { body } = await server.get(`/processes/${id}/artifacts`, alice);
    expect(body.artifacts).toContainEqual({
      name: "out/größe, 100%.csv",
      size: 3,
      sha256: sha256("a;b"),
      contentType: "text/csv",
    });
    expect(body.artifacts).toHaveLength(4);
    const { body: record } = await server.get(`/processes/${id}`, alice);
    expect(record.artifacts).toHaveLength(4);
    expect(record.artifacts[0]).toEqual(
      body.artifacts.find(({ name }: { name: string }) => name.startsWith("out")),
    );
  });

  test("are downloaded by their name, with ranges", async () => {
    for (const path of ["out/gr%C3%B6%C3%9Fe,%20100%25.csv", "out%2Fgr%C3%B6%C3%9Fe%2C%20100%25.csv"]) {
      const { status, text, headers } = await server.get(`/processes/${id}/artifacts/${path}`, alice);
      expect([status, text]).toEqual([200, "a;b"]);
      expect(headers.get("content-security-policy")).toMatch(/^sandbox/);
      expect(headers.get("content-disposition")).toContain("filename*=UTF-8''gr%C3%B6%C3%9Fe");
    }
    const part = await fetch(`${server.url}/processes/${id}/artifacts/big.bin`, {
      headers: { ...alice, range: "bytes=262000-263000" },
    });
    expect(part.status).toBe(206);
    expect(Buffer.from(await part.arrayBuffer()).equals(big.subarray(262_000, 263_001))).toBe(true);
    expect((await server.get(`/processes/${id}/artifacts/empty`, alice)).text).toBe("");
    expect((await server.get(`/processes/${id}/artifacts/none`, alice)).status).toBe(404);
  });

  test("come as a tar archive", async () => {
    const response = await fetch(`${server.url}/processes/${id}/artifacts.tar`, { headers: alice });
    expect(response.headers.get("content-type")).toBe("application/x-tar");
    const found = new Map<string, Buffer>();
    const reader = extract();
    reader.end(Buffer.from(await response.arrayBuffer()));
    for await (const entry of reader) {
      expect(entry.header.type).toBe("file");
      found.set(entry.header.name, await buffer(entry));
    }
    expect([...found.keys()].sort()).toEqual(
      ["big.bin", "empty", `${"long/".repeat(40)}name.txt`, "out/größe, 100%.csv"].sort(),
    );
    expect(found.get("big.bin")?.equals(big)).toBe(true);
  });

  test("are refused while a run of the process is queued, under way or paused, those of the run before too", async () => {
    const { body } = await submit({ given: { text: "given" } });
    const at = (part: string) => server.get(`/processes/${body.id}/${part}`, alice);
    expect([(await at("artifacts.tar")).status, (await at("artifacts/a")).status]).toEqual([200, 404]);
    await finish(body.id, [source("a", Buffer.from("left"))]);
    expect((await at("artifacts/a")).text).toBe("left");
    for (const state of ["queued", "running", "paused", "terminating"]) {
      await server.pool`
        update processes set state = ${state}, exit_state = null, reason = null, completed_at = null,
          claim = gen_random_uuid(), queued_at = now(), started_at = now() where id = ${body.id}`;
      for (const part of ["artifacts/a", "artifacts/none", "artifacts.tar"]) {
        const refused = await at(part);
        expect([refused.status, refused.body.code]).toEqual([409, "process_not_idle"]);
        expect(refused.body.error).toContain(`is ${state}`);
      }
      expect([(await at("artifacts")).status, (await at("files/given")).text]).toEqual([200, "given"]);
    }
    await server.pool`delete from processes where id = ${body.id}`;
  });

  test("are told in the feed of events, each once", async () => {
    const { text } = await server.get(`/processes/${id}/events`, alice);
    const names = [...text.matchAll(/event: artifact\ndata: (.*)/g)].map(
      (match) => JSON.parse(match[1] as string).name,
    );
    expect(names).toHaveLength(4);
    const ids = [...text.matchAll(/id: (.*)\nevent: artifact/g)].map((match) => match[1] as string);
    const { text: rest } = await server.get(`/processes/${id}/events`, {
      ...alice,
      "last-event-id": ids[1] as string,
    });
    expect([...rest.matchAll(/event: artifact/g)]).toHaveLength(2);
    expect(rest).toContain("event: end");
  });

  test("of another key's process are not there", async () => {
    for (const part of ["artifacts", "artifacts/big.bin", "artifacts.tar"]) {
      expect((await server.get(`/processes/${id}/${part}`, bob)).status).toBe(404);
    }
    expect((await server.get("/processes/999999/artifacts")).status).toBe(404);
    expect((await server.get("/processes/999999/artifacts.tar")).status).toBe(404);
  });

  test("that are text hold no known secret, whatever they are called; others are as they were", async () => {
    redactor.setOwner("test", { token: "tok-0123456789" });
    const { body } = await submit(undefined);
    const secret = "x".repeat(300_000 - 4);
    await finish(body.id, [
      source("a.json", Buffer.from('{"a":"tok-0123456789"}'), "application/json"),
      source("unnamed", Buffer.from(`${secret}\ntok-0123456789\n`)),
      source("split", Buffer.from(`${"y\n".repeat(131_069)}tok-0123456789`)),
      source("binary", Buffer.concat([Buffer.from([0, 255]), Buffer.from("tok-0123456789")])),
    ]);
    redactor.dropOwner("test");
    const read = async (name: string) =>
      (await server.get(`/processes/${body.id}/artifacts/${name}`, alice)).text;
    expect(await read("a.json")).toBe('{"a":"[secret]"}');
    expect(await read("unnamed")).toBe(`${secret}\n[secret]\n`);
    expect((await read("split")).endsWith("y\n[secret]")).toBe(true);
    expect(await read("binary")).toContain("tok-0123456789");
  });

  test("go with the process, and with its next run", async () => {
    const { body } = await submit(undefined);
    const bytes = randomBytes(1000);
    await finish(body.id, [source("x", bytes)]);
    await sweep();
    expect(await contents().open(sha256(bytes))).not.toBeNull();
    await server.request("DELETE", `/processes/${body.id}`, { headers: alice });
    await sweep();
    expect(await contents().open(sha256(bytes))).toBeNull();
  });
});
