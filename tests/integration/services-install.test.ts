import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { define } from "./scripted-adapter.ts";
import { type FileServer, type ServicesServer, serveFiles, startServicesServer } from "./services-server.ts";

let server: ServicesServer;
beforeAll(async () => {
  server = await startServicesServer();
});
afterAll(() => server?.close());

const sha256 = (text: string | Buffer) => createHash("sha256").update(text).digest("hex");

async function counts(): Promise<{ services: number; tools: number }> {
  const [row] = await server.pool<{ services: number; tools: number }[]>`
    select (select count(*) from services)::int as services, (select count(*) from tools)::int as tools`;
  return row ?? { services: -1, tools: -1 };
}

describe("a direct installation", () => {
  test("starts disabled with its tools enabled, in the order of the definition", async () => {
    const definition = { name: "Pets", tools: ["zebra", "ant", "deleteAll"], adapterDomain: { base: "/v1" } };
    const answer = await server.install("pets", definition);
    expect([answer.status, answer.body, answer.headers.get("location")]).toEqual([
      201,
      { id: "pets" },
      "/services/pets",
    ]);
    expect(await server.service("pets")).toEqual({
      id: "pets",
      name: "Pets",
      description: "Made by a script.",
      adapter: "scripted",
      hash: sha256(define(definition)),
      source: "",
      enabled: false,
      effectivelyEnabled: false,
      stale: false,
      error: null,
      problems: [],
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      configSchema: { type: "object" },
      secretsSchema: { type: "object" },
    });
    expect(await server.tools("pets")).toEqual([
      { id: "zebra", enabled: true, name: "Tool zebra" },
      { id: "ant", enabled: true, name: "Tool ant" },
      { id: "deleteAll", enabled: true, name: "Tool deleteAll" },
    ]);
    expect(server.adapter.held.size).toBe(0);
  });

  test("from a url: downloaded once, the url is stored nowhere", async () => {
    await using files = await serveFiles({ "/spec?token=hidden": define({ name: "Remote" }) });
    const url = `${files.url}/spec?token=hidden`;
    expect((await server.post("/services", { id: "remote", adapter: "scripted", url })).status).toBe(201);
    expect(files.requests).toHaveLength(1);
    const [row] = await server.pool`select * from services where id = 'remote'`;
    expect(JSON.stringify(row)).not.toContain("hidden");
    expect(row?.source).toBe("");
  });

  test("as content of 30 MiB, and no more; the rest of such a body is small", {
    timeout: 240_000,
  }, async () => {
    const write = (tools: string[], quotes: number) =>
      JSON.stringify({ name: "Large", tools, ignored: '"'.repeat(quotes) });
    const install = (content: string) =>
      server.post("/services", { id: "large", adapter: "scripted", content });
    // Each of them takes two bytes in the definition, and four in the request.
    const quotes = Math.floor((30 * 1024 * 1024 - write(["one"], 0).length) / 2);
    const refused = await install(write(["one"], quotes + 1));
    expect(refused).toMatchObject({ status: 413, body: { code: "payload_too_large" } });
    expect(refused.body.error).toContain("at most 30 MiB");
    const content = write(["one"], quotes);
    expect(await install(content)).toMatchObject({ status: 201, body: { id: "large" } });
    expect(await server.service("large")).toMatchObject({ hash: sha256(content) });
    const changed = await server.patch("/services/large", { content: write(["one", "two"], quotes - 3) });
    expect(changed).toMatchObject({ status: 200, body: { id: "large", updated: true } });
    expect((await server.tools("large")).map(({ id }) => id)).toEqual(["one", "two"]);

    const filler = "x".repeat(2 * 1024 * 1024);
    const bodies = [
      { extra: Array.from({ length: 100_000 }, () => [1]) },
      { extra: JSON.parse(`${"[".repeat(200)}${"]".repeat(200)}`) },
      JSON.parse('{"extra": {"__proto__": 1}}'),
      Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`key${index}`, "x"])),
    ];
    for (const body of bodies) {
      const answer = await server.post("/services", {
        id: "a",
        adapter: "scripted",
        content: filler,
        ...body,
      });
      expect(answer).toMatchObject({ status: 400, body: { code: "invalid_json" } });
    }
    const unknownField = await server.post("/services", {
      id: "a",
      adapter: "scripted",
      content: filler,
      b: 1,
    });
    expect(unknownField).toMatchObject({ status: 400, body: { code: "invalid_request" } });
    const cut = await server.request("POST", "/services", {
      body: `{"content": "${filler}`,
      headers: { "content-type": "application/json" },
    });
    expect(cut).toMatchObject({ status: 400, body: { code: "invalid_json" } });
    const elsewhere = await server.post("/processes", { code: filler });
    expect(elsewhere).toMatchObject({ status: 413, body: { code: "body_too_large" } });
    expect(elsewhere.body.error).toContain("at most 2 MiB");
    const others = await server.post("/roles", { name: filler });
    expect(others).toMatchObject({ status: 413, body: { code: "body_too_large" } });
    expect(others.body.error).toContain("at most 1 MiB");
    expect((await server.get("/services/a")).status).toBe(404);
  });

  test("ids that are no identifiers, and bodies that name both or neither source, are refused", async () => {
    const before = await counts();
    const bodies: unknown[] = [
      ...["1a", "a-b", "a.b", "", "ä", "__proto__", "then", "toJSON", "x".repeat(101), "a b"].map((id) => ({
        id,
        adapter: "scripted",
        content: "{}",
      })),
      { id: "a", adapter: "scripted" },
      { id: "a", adapter: "scripted", url: "http://127.0.0.1/", content: "{}" },
      { id: "a", adapter: "scripted", url: "file:///etc/passwd" },
      { id: "a", adapter: "scripted", url: "nonsense" },
      { id: "a", adapter: "scripted", content: "{}", extra: 1 },
      { id: "a", content: "{}" },
    ];
    for (const body of bodies) {
      const answer = await server.request("POST", "/services", {
        body: JSON.stringify(body),
        headers: { "content-type": "application/json" },
      });
      expect([body, answer.status, answer.body.code]).toEqual([body, 400, "invalid_request"]);
    }
    expect(await counts()).toEqual(before);
  });

  test("every identifier works as an id, names of members of objects included", async () => {
    for (const id of ["$", "_", "constructor", "toString", "a$1_B"]) {
      expect((await server.install(id, { tools: ["hasOwnProperty", "then"] })).status).toBe(201);
      expect((await server.enable(id)).status).toBe(200);
      expect(server.adapter.held.get(id)?.tools).toEqual({
        hasOwnProperty: { adapterDomain: { path: "/hasOwnProperty" } },
        // biome-ignore lint/suspicious/noThenProperty: a tool may be called so
        then: { adapterDomain: { path: "/then" } },
      });
      expect((await server.request("DELETE", `/services/${id}`)).status).toBe(204);
    }
  });

  test("an id that is taken, and an adapter that is none or not active, are conflicts", async () => {
    const before = await counts();
    const taken = await server.install("pets");
    expect([taken.status, taken.body.code]).toEqual([409, "service_taken"]);
    for (const adapter of ["nobody", "typescript-process"]) {
      const answer = await server.post("/services", { id: "other", adapter, content: "{}" });
      expect([answer.status, answer.body.code]).toEqual([409, "adapter_inactive"]);
    }
    expect(await counts()).toEqual(before);
  });

  test("of ten installations of one id at once, one wins and the others are conflicts", async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        server.install("crowded", { name: `N${index}`, tools: ["a", "b"] }),
      ),
    );
    const statuses = answers.map((answer) => answer.status).sort();
    expect(statuses).toEqual([201, ...Array.from({ length: 9 }, () => 409)]);
    expect(await server.tools("crowded")).toHaveLength(2);
  });
});

describe("a definition that cannot be installed leaves nothing behind", () => {
  test("the adapter's own message is the answer", async () => {
    const answer = await server.install("bad", { refuse: "Line 3: no such thing as a verb." });
    expect([answer.status, answer.body.code]).toEqual([400, "invalid_definition"]);
    expect(answer.body.error).toContain("Line 3: no such thing as a verb.");
    expect((await server.get("/services/bad")).status).toBe(404);
  });

  test.each<[string, unknown[]]>([
    ["two tools of one id", ["a", "a"]],
    ["an id that is no identifier", [{ ...tool("a-b") }]],
    ["an id that objects cannot hold", [tool("__proto__")]],
    ["an id that is too long", [tool("x".repeat(201))]],
    ["a tool without schemas", [{ id: "a", name: "a", description: "" }]],
    ["a schema that is no object", [{ ...tool("a"), inputSchema: [] }]],
    ["a NUL character in a name", [{ ...tool("a"), name: "a\0b" }]],
    ["a tool that is nothing", [null]],
  ])("%s", async (_, tools) => {
    const before = await counts();
    const answer = await server.install("bad", { tools });
    expect([answer.status, answer.body.code]).toEqual([400, "invalid_definition"]);
    expect(await counts()).toEqual(before);
  });

  test("settings schemas that are none", async () => {
    for (const schema of [{ type: "nonsense" }, { $ref: "http://127.0.0.1/remote.json" }, []]) {
      const answer = await server.install("bad", { configSchema: schema });
      expect([answer.status, answer.body.code]).toEqual([400, "invalid_definition"]);
    }
  });

  test("settings schemas whose check would take for ever", async () => {
    const twice = { anyOf: [{ items: { $ref: "#" } }, { items: { $ref: "#" } }] };
    const doubling = Object.fromEntries(
      Array.from({ length: 40 }, (_, n) => [
        `d${n}`,
        { anyOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] },
      ]),
    );
    let nested: unknown = 1;
    for (let level = 0; level < 60; level += 1) nested = [nested];
    const hostile = [
      { type: "object", properties: { enum: twice, $defs: {} }, default: {} },
      {
        type: "object",
        properties: { $defs: { $ref: "#/$defs/twice" } },
        $defs: { twice: { anyOf: [{ $ref: "#" }, { $ref: "#" }] } },
      },
      { type: "object", $defs: { ...doubling, d40: {} }, properties: { a: { $ref: "#/$defs/d0" } } },
      { ...twice, default: nested },
      { type: "object", properties: { a: { $dynamicRef: "#a" } } },
      { type: "object", description: "x".repeat(300_000) },
    ];
    for (const configSchema of hostile) {
      const answer = await server.install("bad", { configSchema });
      expect([answer.status, answer.body.code]).toEqual([400, "invalid_definition"]);
      expect(answer.body.error).toContain("Its configSchema");
    }
    const tree = {
      type: "object",
      $defs: { any: true, leaf: { type: "string" } },
      properties: {
        a: { $ref: "#/$defs/leaf" },
        b: { $ref: "#/$defs/any" },
        inner: { items: { $ref: "#" } },
      },
    };
    expect((await server.install("tree", { configSchema: tree })).status).toBe(201);
    await server.request("DELETE", "/services/tree");
  });

  test("answers of an adapter that are cyclic, endless when written out, too deep or no object", async () => {
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    let laughs: unknown = { value: "ha" };
    for (let level = 0; level < 60; level += 1) laughs = { left: laughs, right: laughs };
    let deep: unknown = {};
    for (let level = 0; level < 100_000; level += 1) deep = { deep };
    const many = Array.from({ length: 20_001 }, (_, index) => tool(`t${index}`));
    const results: unknown[] = [
      { adapterDomain: cyclic },
      { adapterDomain: laughs },
      { adapterDomain: deep },
      { adapterDomain: 1n },
      { tools: [{ ...tool("a"), outputSchema: laughs as object }] },
      { tools: many },
    ];
    const before = await counts();
    for (const result of results) {
      server.adapter.rewrite = (made) => ({ ...made, ...(result as object) });
      const answer = await server.install("bad");
      expect([answer.status, answer.body.code]).toEqual([400, "invalid_definition"]);
    }
    for (const result of [null, undefined, "text", 1, []]) {
      server.adapter.rewrite = () => result;
      expect((await server.install("bad")).status).toBe(400);
    }
    server.adapter.rewrite = (made) => made;
    expect(await counts()).toEqual(before);
  });

  test("what Postgres text cannot hold: NUL in the definition is refused, in schemas it is data", async () => {
    const raw = await server.post("/services", { id: "nul", adapter: "scripted", content: "{}\0" });
    expect([raw.status, raw.body.code]).toEqual([400, "invalid_definition"]);
    expect(raw.body.error).toContain("NUL");
    const schema = { type: "object", properties: { a: { pattern: "^[^\0\ud800]$" } } };
    expect((await server.install("nul", { tools: [{ ...tool("a"), inputSchema: schema }] })).status).toBe(
      201,
    );
    const [row] = await server.pool`select input_schema from tools where service_id = 'nul'`;
    expect(row?.input_schema).toEqual(schema);
  });

  test("half a surrogate pair in a description becomes the replacement character, and long texts are cut", async () => {
    const description = `\ud800${"x".repeat(200_000)}`;
    const answer = await server.install("wide", {
      tools: [{ ...tool("a"), name: "n".repeat(5000), description }],
    });
    expect(answer.status).toBe(201);
    const [row] = await server.pool`select name, description from tools where service_id = 'wide'`;
    expect(row?.name).toHaveLength(500);
    expect(row?.description.slice(0, 2)).toBe("\ufffdx");
    expect(row?.description).toHaveLength(100_000);
  });
});

describe("downloads", () => {
  let files: FileServer;
  beforeAll(async () => {
    files = await serveFiles({
      "/big": (_, response) => {
        response.writeHead(200);
        const chunk = Buffer.alloc(1024 * 1024, " ");
        const write = () => {
          while (!response.destroyed && response.write(chunk));
          response.once("drain", write);
        };
        write();
      },
      "/latin1": Buffer.from([0x7b, 0xe9, 0x7d]),
      "/empty": " \n",
      "/bom": `\ufeff${define({ name: "Marked" })}`,
    });
  });
  afterAll(() => files[Symbol.asyncDispose]());
  const install = (path: string) =>
    server.post("/services", { id: "download", adapter: "scripted", url: files.url + path });

  test("over 30 MiB: 413, and the rest is not read", async () => {
    const answer = await install("/big");
    expect([answer.status, answer.body.code]).toEqual([413, "payload_too_large"]);
  });

  test("not there: 502; not UTF-8 or empty: 400", async () => {
    expect((await install("/missing")).body.code).toBe("download_failed");
    for (const path of ["/latin1", "/empty"])
      expect((await install(path)).body.code).toBe("invalid_definition");
    expect((await server.get("/services/download")).status).toBe(404);
  });

  test("an address that is not allowed is refused, and the rule is named", async () => {
    const url = "http://169.254.169.254/latest/meta-data";
    const answer = await server.post("/services", { id: "download", adapter: "scripted", url });
    expect([answer.status, answer.body.code]).toEqual([502, "egress_refused"]);
  });

  test("a byte order mark is no part of the text", async () => {
    expect((await install("/bom")).status).toBe(201);
    expect((await server.service("download")).name).toBe("Marked");
  });
});

describe("an installation from a registry", () => {
  const spec = define({ name: "From a registry" });

  test("takes id, adapter and download from the descriptor; what the request says wins", async () => {
    await using files = await serveFiles({
      "/entry.json": JSON.stringify({
        downloadUrl: "./spec.json",
        hash: sha256(spec).toUpperCase(),
        id: "catalogued",
        adapter: "scripted",
        more: "is ignored",
      }),
      "/spec.json": spec,
    });
    const source = `${files.url}/entry.json`;
    const first = await server.post("/services/install", { source });
    expect([first.status, first.body]).toEqual([201, { id: "catalogued" }]);
    const second = await server.post("/services/install", { source, id: "mine" });
    expect([second.status, second.body]).toEqual([201, { id: "mine" }]);
    expect(await server.service("mine")).toMatchObject({ source, hash: sha256(spec), enabled: false });
    const third = await server.post("/services/install", { source, id: "x", adapter: "nobody" });
    expect(third.body.code).toBe("adapter_inactive");
  });

  test("a hash that is not the download's is refused, and nothing is installed", async () => {
    await using files = await serveFiles({
      "/entry.json": JSON.stringify({
        downloadUrl: "/spec.json",
        hash: sha256("other"),
        id: "forged",
        adapter: "scripted",
      }),
      "/spec.json": spec,
    });
    const before = server.adapter.generated;
    const answer = await server.post("/services/install", { source: `${files.url}/entry.json` });
    expect([answer.status, answer.body.code]).toEqual([502, "hash_mismatch"]);
    expect(answer.body.error).toContain(sha256(spec));
    expect(server.adapter.generated).toBe(before);
    expect((await server.get("/services/forged")).status).toBe(404);
  });

  test("descriptors that are none", async () => {
    const bad = [
      "not json",
      "[]",
      "{}",
      JSON.stringify({ downloadUrl: "file:///etc/passwd" }),
      JSON.stringify({ downloadUrl: "/spec.json", hash: "abc" }),
      JSON.stringify({ downloadUrl: "/spec.json", id: "a-b" }),
      JSON.stringify({ downloadUrl: 7 }),
    ];
    await using files = await serveFiles(Object.fromEntries(bad.map((text, index) => [`/${index}`, text])));
    for (const index of bad.keys()) {
      const answer = await server.post("/services/install", {
        source: `${files.url}/${index}`,
        id: "none",
        adapter: "scripted",
      });
      expect([bad[index], answer.status, answer.body.code]).toEqual([bad[index], 502, "invalid_descriptor"]);
    }
  });

  test("without an id or adapter anywhere the request is at fault; a source must not hold a password", async () => {
    await using files = await serveFiles({
      "/entry.json": JSON.stringify({ downloadUrl: "/spec.json" }),
      "/spec.json": spec,
    });
    const answer = await server.post("/services/install", { source: `${files.url}/entry.json` });
    expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"]);
    expect(answer.body.issues.map((issue: { path: string }) => issue.path)).toEqual([
      "body.id",
      "body.adapter",
    ]);
    const withPassword = files.url.replace("http://", "http://user:hunter2hunter2@");
    const refused = await server.post("/services/install", {
      source: `${withPassword}/entry.json`,
      id: "a",
      adapter: "scripted",
    });
    expect(refused.status).toBe(400);
    expect(refused.text).not.toContain("hunter2");
  });
});

function tool(id: string) {
  return { id, name: id, description: "", inputSchema: {}, outputSchema: {}, adapterDomain: null };
}
