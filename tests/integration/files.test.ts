import { createHash, randomBytes } from "node:crypto";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createContents } from "#api/files/contents/contents.ts";
import { sweepFiles } from "#api/files/sweep.ts";
import { startServer, type TestServer } from "./harness/server.ts";

const BOOTSTRAP = "files-bootstrap-key-0123456789";
const MAX_BYTES = 2 * 1024 * 1024;

let server: TestServer;
let alice: Record<string, string>;
let bob: Record<string, string>;
let reader: Record<string, string>;

beforeAll(async () => {
  server = await startServer({
    builtins: [],
    environment: { CYRNEL_API_KEY: BOOTSTRAP, CYRNEL_MAX_FILE_BYTES: String(MAX_BYTES) },
  });
  alice = await makeKey(["processes:read", "processes:write"]);
  bob = await makeKey(["processes:read", "processes:write"]);
  reader = await makeKey(["processes:read"]);
});
afterAll(async () => server.close());

async function makeKey(scopes: string[]): Promise<Record<string, string>> {
  const { body } = await server.post("/keys", { name: `files ${scopes.join(" ")}`, scopes });
  return { authorization: `Bearer ${body.key}` };
}

function upload(
  bytes: string | Uint8Array,
  query = "",
  headers: Record<string, string> = {},
  type = "application/octet-stream",
) {
  return server.request("POST", `/files${query}`, {
    body: bytes,
    headers: { ...alice, "content-type": type, ...headers },
  });
}

const sha256 = (bytes: string | Uint8Array) => createHash("sha256").update(bytes).digest("hex");

async function download(id: string, headers: Record<string, string> = {}, method = "GET") {
  const response = await fetch(`${server.url}/files/${id}/content`, {
    method,
    headers: { ...alice, ...headers },
  });
  return { response, bytes: Buffer.from(await response.arrayBuffer()) };
}

/** Blobs, chunks and contents as they lie in the database. */
async function countStored() {
  const [row] = await server.pool<{ blobs: number; chunks: number; contents: number; files: number }[]>`
    select (select count(*) from blobs) as blobs, (select count(*) from blob_chunks) as chunks,
      (select count(*) from contents) as contents, (select count(*) from files) as files`;
  return row as { blobs: number; chunks: number; contents: number; files: number };
}

async function countUnfinished(): Promise<number> {
  const { blobs, contents } = await countStored();
  return blobs - contents;
}

function sweep(abandonedMs = 0) {
  const log = { info() {}, warn() {} };
  const contents = createContents({ db: server.pool, bucket: null, log });
  return sweepFiles({ pool: server.pool, contents, ttlDays: 30, log }, abandonedMs);
}

describe("uploads", () => {
  test("are known by their digest, and come back as they were", async () => {
    const bytes = randomBytes(700_001);
    const { status, body, headers } = await upload(bytes, "?name=in%2Fdata.bin");
    expect(status).toBe(201);
    expect(body).toEqual({
      id: `sha256-${sha256(bytes)}`,
      name: "in/data.bin",
      size: 700_001,
      contentType: "application/octet-stream",
      createdAt: expect.any(String),
      expiresAt: expect.any(String),
    });
    expect(headers.get("location")).toBe(`/files/${body.id}`);
    const days = (Date.parse(body.expiresAt) - Date.parse(body.createdAt)) / 86_400_000;
    expect(days).toBeCloseTo(30, 3);
    const { response, bytes: back } = await download(body.id);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-length")).toBe("700001");
    expect(back.equals(bytes)).toBe(true);
    expect((await server.get(`/files/${body.id}`, alice)).body).toEqual(body);
  });

  test("that hold nothing, one byte, a whole chunk and one more are kept", async () => {
    for (const size of [0, 1, 256 * 1024, 256 * 1024 + 1, 512 * 1024]) {
      const bytes = randomBytes(size);
      const { status, body } = await upload(bytes);
      expect(status).toBe(201);
      expect(body.size).toBe(size);
      expect((await download(body.id)).bytes.equals(bytes)).toBe(true);
    }
  });

  test("of the same content are one file of a key, and one content of all keys", async () => {
    const bytes = randomBytes(300_000);
    const first = await upload(bytes, "?name=one.txt");
    const before = await countStored();
    const again = await upload(bytes, "?name=two.txt", {}, "text/plain");
    const other = await upload(bytes, "", bob);
    expect([first.status, again.status, other.status]).toEqual([201, 200, 201]);
    expect(again.body).toMatchObject({ id: first.body.id, name: "two.txt", contentType: "text/plain" });
    expect(again.body.createdAt).toBe(first.body.createdAt);
    expect(Date.parse(again.body.expiresAt)).toBeGreaterThan(Date.parse(first.body.expiresAt));
    await sleep(0);
    const after = await countStored();
    expect(after).toEqual({ ...before, files: before.files + 1 });
  });

  test("of the same content at once are one content", async () => {
    const bytes = randomBytes(400_000);
    const answers = await Promise.all(Array.from({ length: 6 }, () => upload(bytes)));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    const [row] = await server.pool<{ count: number }[]>`
      select count(*) from contents where digest = ${sha256(bytes)}`;
    expect(row?.count).toBe(1);
    expect((await download(answers[0]?.body.id)).bytes.equals(bytes)).toBe(true);
  });

  test("take their type from the name where the client says none", async () => {
    const types = await Promise.all([
      upload("a,b", "?name=a.csv"),
      upload("a,c", "?name=b.csv", {}, "application/x-www-form-urlencoded"),
      upload("a,d", "?name=c.csv", {}, "text/plain; charset=utf-8"),
      upload('{"a":1}', "", {}, "application/json"),
    ]);
    expect(types.map(({ body }) => body.contentType)).toEqual([
      "text/csv",
      "text/csv",
      "text/plain; charset=utf-8",
      "application/json",
    ]);
  });

  test("keep the type and the name that are known where they say none", async () => {
    const first = await upload("k,l", "?name=k.csv");
    const known = { id: first.body.id, name: "k.csv", contentType: "text/csv" };
    expect((await upload("k,l", "", {}, "application/x-www-form-urlencoded")).body).toMatchObject(known);
    expect((await upload("k,l", "?name=k")).body).toMatchObject({ ...known, name: "k" });
    const said = await upload("k,l", "?name=k.txt", {}, "text/tab-separated-values");
    expect(said.body).toMatchObject({ name: "k.txt", contentType: "text/tab-separated-values" });
    const others = await upload("k,l", "", bob);
    expect([others.body.name, others.body.contentType]).toEqual([undefined, "application/octet-stream"]);
  });

  test("may be a form with one file, and no more", async () => {
    const send = async (form: FormData) => {
      const response = await fetch(`${server.url}/files`, { method: "POST", headers: alice, body: form });
      return { status: response.status, ...((await response.json()) as { error: string }) };
    };
    const two = new FormData();
    for (const name of ["a", "b", "c"]) two.append(name, new Blob([`two ${name}`]), name);
    expect(await send(two)).toMatchObject({
      status: 400,
      code: "invalid_request",
      error: "The form contains more than one file. Send one at a time.",
    });
    const fields = new FormData();
    for (let i = 0; i < 11; i++) fields.append(`field${i}`, "x");
    fields.append("file", new Blob(["x"]), "x");
    expect(await send(fields)).toMatchObject({ status: 400, error: expect.stringContaining("10 fields") });
  });

  test("take the name and type of a form's file", async () => {
    const form = new FormData();
    form.append("note", "not a file");
    form.append("file", new Blob(["x;y"], { type: "text/csv" }), "../../ordérs.csv");
    const response = await fetch(`${server.url}/files`, { method: "POST", headers: alice, body: form });
    expect(response.status).toBe(201);
    expect(await response.json()).toMatchObject({ name: "ordérs.csv", contentType: "text/csv", size: 3 });
    const empty = new FormData();
    empty.append("note", "not a file");
    const refused = await fetch(`${server.url}/files`, { method: "POST", headers: alice, body: empty });
    expect(refused.status).toBe(400);
  });

  test("need a key that may write", async () => {
    expect((await upload("x", "", reader)).status).toBe(403);
    expect((await upload("x", "", { authorization: "Bearer wrong" })).status).toBe(401);
  });

  test("are in the audit trail, without their bytes", async () => {
    const { body } = await upload("an audited file", "?name=audited.txt");
    const { body: trail } = await server.get("/audit?action=file.upload&limit=200");
    const record = trail.records.find((one: { object: { id: string } }) => one.object.id === body.id);
    expect(record).toMatchObject({ action: "file.upload", outcome: "ok", object: { kind: "file" } });
    expect(JSON.stringify(trail)).not.toContain("an audited file");
  });
});

describe("hostile names and types", () => {
  test.each([
    "../up",
    "/etc/passwd",
    "a//b",
    "a/./b",
    "a\\b",
    "a\u0000b",
    "a\r\nSet-Cookie: x=1",
    "x".repeat(256),
    "e\u0301",
    "",
  ])("the name %j is refused", async (name) => {
    const { status, body } = await upload("x", `?name=${encodeURIComponent(name)}`);
    expect([status, body.code]).toEqual([400, "invalid_request"]);
  });

  test.each(["text/html\u00e9", "nonsense", "text/html;\tx=\u0001", `text/${"x".repeat(300)}`, "a/b; c"])(
    "the type %j is refused",
    async (type) => {
      const status = await sendRaw([
        "POST /files HTTP/1.1",
        `Content-Type: ${type}`,
        "Content-Length: 1",
        "Connection: close",
        "",
        "x",
      ]);
      expect(status).toMatch(/^HTTP\/1\.1 4(00|15) /);
    },
  );

  test("a type that is none is refused with what to send, of the request as of a form's part", async () => {
    const { status, body } = await upload("x", "", {}, "nonsense");
    const says = (what: string) =>
      `The Content-Type of the ${what} is not a media type. Leave it out, or send one such as text/csv.`;
    expect([status, body.code, body.error]).toEqual([415, "unsupported_media_type", says("request")]);
    const part =
      '--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\nContent-Type: a/b/c\r\n\r\nx\r\n--b--\r\n';
    const form = await upload(part, "", {}, "multipart/form-data; boundary=b");
    expect([form.status, form.body.error]).toEqual([415, says("file")]);
  });

  const HEAD = 'Content-Disposition: form-data; name="file"; filename="x"';
  test.each([
    ["with a head that is none", "--b\r\nnonsense\r\n\r\nx\r\n--b--\r\n", "b"],
    ["cut off in its file", `--b\r\n${HEAD}\r\n\r\nx`, "b"],
    ["cut off in its head", `--b\r\n${HEAD}`, "b"],
    ["without its boundary", `--c\r\n${HEAD}\r\n\r\nx\r\n--c--\r\n`, "b"],
    ["that names no boundary", `--b\r\n${HEAD}\r\n\r\nx\r\n--b--\r\n`, null],
    [
      "with a field of broken JSON",
      '--b\r\nContent-Disposition: form-data; name="f"\r\nContent-Type: application/json\r\n\r\n{\r\n--b--\r\n',
      "b",
    ],
    [
      "with a field called __proto__",
      '--b\r\nContent-Disposition: form-data; name="__proto__"\r\n\r\n1\r\n--b--\r\n',
      "b",
    ],
  ])("a form %s is a mistake of the caller", async (_how, form, boundary) => {
    const type = `multipart/form-data${boundary === null ? "" : `; boundary=${boundary}`}`;
    const { status, body } = await upload(form, "", {}, type);
    expect([status, body.code]).toEqual([400, "invalid_request"]);
  });

  test("a page is saved, never shown", async () => {
    const name = "a\"; filename*=UTF-8''b; é<script>.html";
    const { body } = await upload(
      "<script>alert(1)</script>",
      `?name=${encodeURIComponent(`in/${name}`)}`,
      {},
      "text/html",
    );
    const { response } = await download(body.id);
    expect(response.headers.get("content-type")).toBe("text/html");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(response.headers.get("content-security-policy")).toMatch(/^sandbox; default-src 'none'/);
    expect(response.headers.get("cross-origin-resource-policy")).toBe("same-origin");
    expect(response.headers.get("cache-control")).toMatch(/^private/);
    const disposition = response.headers.get("content-disposition") ?? "";
    expect(disposition).toMatch(
      /^attachment; filename="(?:[^"\\]|\\.)*"; filename\*=UTF-8''[\w.%'!#$&+^`|~-]+$/,
    );
    expect(decodeURIComponent(disposition.slice(disposition.lastIndexOf("''") + 2))).toBe(name);
  });

  test.each(["script", "worker", "serviceworker", "style", "manifest"])(
    "what a page would run or apply (%s) is refused, whatever its type",
    async (destination) => {
      const { body } = await upload("alert(1)", "", {}, "text/javascript");
      const refused = await download(body.id, { "sec-fetch-dest": destination });
      expect(refused.response.status).toBe(403);
      expect(JSON.parse(refused.bytes.toString())).toMatchObject({ code: "forbidden" });
      const { bytes } = await download(body.id, { "sec-fetch-dest": "document" });
      expect(bytes.toString()).toBe("alert(1)");
    },
  );
});

describe("downloads", () => {
  const bytes = randomBytes(600_000);
  let id: string;
  beforeAll(async () => {
    id = (await upload(bytes)).body.id;
  });

  test.each([
    ["bytes=0-0", 0, 1],
    ["bytes=0-99", 0, 100],
    ["bytes=262143-262145", 262_143, 262_146],
    ["bytes=262144-", 262_144, 600_000],
    ["bytes=-5", 599_995, 600_000],
    ["bytes=-9999999", 0, 600_000],
    ["bytes=599999-9999999", 599_999, 600_000],
    ["bytes=100000-550000", 100_000, 550_001],
  ])("the range %s", async (range, from, to) => {
    const { response, bytes: part } = await download(id, { range });
    expect(response.status).toBe(206);
    expect(response.headers.get("content-range")).toBe(`bytes ${from}-${to - 1}/600000`);
    expect(part.equals(bytes.subarray(from, to))).toBe(true);
  });

  test.each(["bytes=600000-", "bytes=-0", "bytes=700000-800000"])("there is no %s", async (range) => {
    const { response } = await download(id, { range });
    expect(response.status).toBe(416);
    expect(response.headers.get("content-range")).toBe("bytes */600000");
  });

  test.each(["bytes=5-2", "lines=1-2", "bytes=0-1,3-4", "bytes=a-b"])(
    "%s is answered whole",
    async (range) => {
      const { response, bytes: all } = await download(id, { range });
      expect([response.status, all.length]).toEqual([200, 600_000]);
    },
  );

  test("are not repeated for what the client has", async () => {
    const { response } = await download(id);
    const tag = response.headers.get("etag") as string;
    expect(tag).toBe(`"${sha256(bytes)}"`);
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, "*"]) {
      const { response: again, bytes: none } = await download(id, { "if-none-match": known });
      expect([again.status, none.length]).toEqual([304, 0]);
    }
    expect((await download(id, { "if-none-match": '"other"' })).response.status).toBe(200);
    const range = "bytes=0-9";
    expect((await download(id, { range, "if-range": tag })).response.status).toBe(206);
    expect((await download(id, { range, "if-range": '"other"' })).response.status).toBe(200);
    const date = "Tue, 01 Jan 2030 00:00:00 GMT";
    expect((await download(id, { range, "if-range": date })).response.status).toBe(200);
  });

  test("HEAD says what GET would, without the bytes", async () => {
    const { response, bytes: none } = await download(id, {}, "HEAD");
    expect([response.status, response.headers.get("content-length"), none.length]).toEqual([
      200,
      "600000",
      0,
    ]);
    const record = await fetch(`${server.url}/files/${id}`, { method: "HEAD", headers: alice });
    expect(record.status).toBe(200);
  });
});

describe("whose they are", () => {
  test("a key that knows a digest has not the content", async () => {
    const { body } = await upload("a secret of alice", "?name=alice.txt");
    for (const path of [`/files/${body.id}`, `/files/${body.id}/content`]) {
      expect((await server.get(path, bob)).status).toBe(404);
      expect((await server.get(path, alice)).status).toBe(200);
      // The bootstrap key sees all.
      expect((await server.get(path)).status).toBe(200);
    }
    expect((await server.request("DELETE", `/files/${body.id}`, { headers: bob })).status).toBe(404);
    const own = await server.get("/files?limit=200", bob);
    expect(own.body.files.map((file: { id: string }) => file.id)).not.toContain(body.id);
    expect((await server.request("DELETE", `/files/${body.id}`, { headers: alice })).status).toBe(204);
    expect((await server.get(`/files/${body.id}`, alice)).status).toBe(404);
  });

  test("ids that are none are refused", async () => {
    for (const id of ["sha256-abc", "x", `sha256-${"A".repeat(64)}`, `md5-${"a".repeat(64)}`]) {
      expect((await server.get(`/files/${id}`, alice)).status).toBe(400);
    }
    expect((await server.get(`/files/sha256-${"0".repeat(64)}`, alice)).status).toBe(404);
  });

  test("lists have pages and filters", async () => {
    const lister = await makeKey(["processes:read", "processes:write"]);
    for (const name of ["a.csv", "b.csv", "c.json"]) await upload(`of ${name}`, `?name=${name}`, lister);
    const names = async (query: string) => {
      const { body } = await server.get(`/files?${query}`, lister);
      return { names: body.files.map((file: { name: string }) => file.name), next: body.nextCursor };
    };
    const first = await names("limit=2");
    expect(first.names).toEqual(["c.json", "b.csv"]);
    expect(await names(`limit=2&cursor=${first.next}`)).toEqual({ names: ["a.csv"], next: null });
    expect((await names("name=b.csv")).names).toEqual(["b.csv"]);
    expect((await names("contentType=text/csv")).names).toEqual(["b.csv", "a.csv"]);
    expect((await server.get("/files?cursor=nonsense", lister)).body.code).toBe("invalid_cursor");
  });
});

/** Sends lines over a connection of its own; answers what came back until it ended. */
function sendRaw(lines: string[], options: { ending?: "end" | "destroy" | "wait"; extra?: Buffer } = {}) {
  const { hostname, port } = new URL(server.url);
  return new Promise<string>((resolve) => {
    let answer = "";
    const socket = connect(Number(port), hostname);
    const [request = "", ...rest] = lines;
    const auth = [`Host: ${hostname}`, `Authorization: ${alice.authorization}`];
    socket.write([request, ...auth, ...rest].join("\r\n"), "latin1");
    if (options.extra) socket.write(options.extra);
    if (options.ending === "end") socket.end();
    if (options.ending === "destroy") setTimeout(() => socket.destroy(), 100);
    socket.setEncoding("latin1").on("data", (text) => {
      answer += text;
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(answer));
  });
}

describe("limits", () => {
  test("a length that is too much is refused before the body comes", async () => {
    const answer = await sendRaw(["POST /files HTTP/1.1", `Content-Length: ${MAX_BYTES + 1}`, "", ""]);
    expect(answer).toMatch(/^HTTP\/1\.1 413 [\s\S]*"code":"body_too_large"/);
  });

  test.each(["application/octet-stream", "multipart/form-data; boundary=b"])(
    "a body of %s without a length is refused where it is too much, and its client reads why",
    async (type) => {
      const before = await countStored();
      const body = (async function* () {
        if (type.startsWith("multipart")) {
          yield Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n');
        }
        // It is sent to its end, whatever was answered meanwhile.
        for (let sent = 0; sent < 40; sent += 1) {
          yield randomBytes(100_000);
          await sleep(2);
        }
      })();
      const answer = await fetch(`${server.url}/files`, {
        method: "POST",
        headers: { ...alice, "content-type": type },
        body: body as never,
        duplex: "half",
      } as RequestInit);
      expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([
        413,
        "body_too_large",
      ]);
      await expect.poll(countStored).toEqual(before);
    },
  );

  test("a client that sends on without end is cut off", async () => {
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    const closed = new Promise((resolve) => socket.once("close", resolve));
    const lines = [
      "POST /files HTTP/1.1",
      `Host: ${hostname}`,
      `Authorization: ${alice.authorization}`,
      "Transfer-Encoding: chunked",
    ];
    socket.write(`${lines.join("\r\n")}\r\n\r\n`);
    const sending = setInterval(() => socket.write(`10000\r\n${"x".repeat(0x10000)}\r\n`), 2);
    try {
      await closed;
    } finally {
      clearInterval(sending);
    }
  });

  test("exactly the limit is taken", async () => {
    const { status, body } = await upload(randomBytes(MAX_BYTES));
    expect([status, body.size]).toEqual([201, MAX_BYTES]);
  });

  test.each(["end", "destroy"] as const)(
    "a client that promised more and left (%s) leaves nothing",
    async (ending) => {
      const before = await countStored();
      const extra = randomBytes(700_000);
      await sendRaw(["POST /files HTTP/1.1", "Content-Length: 900000", "", ""], { extra, ending });
      await expect.poll(countStored).toEqual(before);
      const chunked = ["POST /files HTTP/1.1", "Transfer-Encoding: chunked", "", "aae60", ""];
      await sendRaw(chunked, { extra, ending });
      await expect.poll(countStored).toEqual(before);
    },
  );

  test("what comes after the promised length is no part of the file", async () => {
    await sendRaw(["POST /files?name=short HTTP/1.1", "Content-Length: 3", "", "abcdef"], { ending: "end" });
    const { body } = await server.get("/files?name=short", alice);
    // The rest is no request, which may end the connection before the file is stored.
    const whole = { size: 3, id: `sha256-${sha256("abc")}` };
    for (const file of body.files) expect(file).toMatchObject(whole);
    await expect.poll(countUnfinished).toBe(0);
  });

  test("a form that is broken off leaves nothing", async () => {
    const before = await countStored();
    const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n';
    await sendRaw(
      [
        "POST /files HTTP/1.1",
        "Content-Type: multipart/form-data; boundary=b",
        "Content-Length: 900000",
        "",
        head,
      ],
      { extra: randomBytes(600_000), ending: "destroy" },
    );
    await expect.poll(countStored).toEqual(before);
  });

  test("a key has eight uploads at once", async () => {
    const slow = Array.from({ length: 9 }, () =>
      sendRaw(["POST /files HTTP/1.1", "Content-Length: 10", "", "x"], { ending: "wait" }),
    );
    expect(await Promise.race(slow)).toMatch(/^HTTP\/1\.1 429 /);
    const another = () => upload(randomBytes(10));
    const { status, headers, body } = await another();
    expect(status).toBe(429);
    expect(body.code).toBe("too_many_uploads");
    expect(headers.get("retry-after")).toBe("2");
    expect((await upload("of another", "", bob)).status).toBe(201);
    server.server.app.server.closeAllConnections();
    await Promise.all(slow);
    await expect.poll(async () => (await another()).status).toBe(201);
  });
});

describe("sweeps", () => {
  test("remove what was not used for its time, and what nothing refers to", async () => {
    const { body: old } = await upload(randomBytes(300_000), "?name=old");
    const { body: kept } = await upload(randomBytes(300_000), "?name=kept");
    await server.pool`
      update files set used_at = now() - interval '31 days' where digest = ${old.id.slice("sha256-".length)}`;
    await sweep();
    expect((await server.get(`/files/${old.id}`, alice)).status).toBe(404);
    expect((await download(kept.id)).bytes.length).toBe(300_000);
    const [row] = await server.pool<{ orphans: number }[]>`
      select count(*) as orphans from blobs b
      where not exists (select from contents c where c.blob = b.id)`;
    expect(row?.orphans).toBe(0);
    const stored = await countStored();
    expect(stored.blobs).toBe(stored.contents);
  });

  test("leave what was just stored to be referred to", async () => {
    const log = { info() {}, warn() {} };
    const contents = createContents({ db: server.pool, bucket: null, log });
    const bytes = randomBytes(1000);
    const { digest } = await contents.put(pieces(bytes));
    await sweep(60_000);
    expect(await contents.open(digest)).not.toBeNull();
    await sweep(0);
    expect(await contents.open(digest)).toBeNull();
  });

  test("an upload that a sweep has given up becomes no file", async () => {
    const contents = createContents({ db: server.pool, bucket: null, log: { warn() {} } });
    const stored = contents.put(
      (async function* () {
        yield randomBytes(600_000);
        await sweep(0);
        yield randomBytes(600_000);
      })(),
    );
    await expect(stored).rejects.toThrow();
    await sweep(0);
    expect((await countStored()).blobs).toBe((await countStored()).contents);
  });

  test("go on past what cannot be removed: a bucket of before that is not configured any more", async () => {
    await server.pool`
      insert into blobs (place, touched_at)
      select 's3://gone/files', now() - interval '1 hour' from generate_series(1, 250)`;
    const { body } = await upload(randomBytes(1000));
    await server.request("DELETE", `/files/${body.id}`, { headers: alice });
    for (let sweeps = 0; sweeps < 3; sweeps += 1) await sweep(0);
    const left = await server.pool<{ place: string; count: number }[]>`
      select place, count(*) from blobs b
      where not exists (select from contents c where c.blob = b.id) group by place`;
    expect(left).toEqual([{ place: "s3://gone/files", count: 250 }]);
    await server.pool`delete from blobs where place = 's3://gone/files'`;
  });

  test("and uploads of the same contents at once lose nothing", async () => {
    const bodies = Array.from({ length: 4 }, () => randomBytes(300_000));
    let isDone = false;
    const sweeping = [0, 0].map(async () => {
      while (!isDone) await sweep(0);
    });
    for (let round = 0; round < 12; round += 1) {
      const answers = await Promise.all(bodies.map((bytes) => upload(bytes)));
      for (const [index, { status, body }] of answers.entries()) {
        // A content may be swept between its end and its file: then the upload fails as a whole.
        if (status >= 500) continue;
        expect((await download(body.id)).bytes.equals(bodies[index] as Buffer)).toBe(true);
        await server.request("DELETE", `/files/${body.id}`, { headers: alice });
      }
    }
    isDone = true;
    await Promise.all(sweeping);
    await sweep(0);
    const stored = await countStored();
    expect(stored.blobs).toBe(stored.contents);
  }, 60_000);
});

async function* pieces(bytes: Buffer) {
  yield bytes;
}
