/** Files over MCP: what an agent gives a run, and how it gets what the run left, with the official client. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { TEST_KEY } from "./harness/http-app.ts";
import { connectMcp, type McpClient } from "./mcp-client.ts";
import { SECRETS_KEY } from "./services-server.ts";
import { startToolsServer, type ToolsServer } from "./tools-server.ts";

let server: ToolsServer;
const clients: McpClient[] = [];

beforeAll(async () => {
  server = await startToolsServer({
    environment: { CYRNEL_API_KEY: TEST_KEY, CYRNEL_SECRETS_KEY: SECRETS_KEY },
    environments: [
      {
        id: "typescript-process",
        type: "environment",
        load: () => import("#modules/typescript-process/index.ts"),
      },
    ],
  });
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.client.close();
});
afterAll(() => server?.close());

async function connect(key = TEST_KEY): Promise<McpClient> {
  const client = await connectMcp(server.url, { key });
  clients.push(client);
  return client;
}

async function makeKey(...scopes: string[]): Promise<string> {
  return (await server.post("/keys", { name: `key ${Math.random()}`, scopes })).body.key;
}

async function upload(key: string, text: string): Promise<string> {
  const response = await fetch(`${server.url}/files`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "text/plain" },
    body: text,
  });
  return ((await response.json()) as { id: string }).id;
}

const uriOf = (id: number, name: string) => `cyrnel://processes/${id}/artifacts/${name}`;

test("a run is given files as text, base64 and uploads; small files it left are embedded in the answer", async () => {
  const { call } = await connect();
  const id = await upload(TEST_KEY, "uploaded");
  const { value, attached, isError } = await call("run", {
    script: `
      const { files } = cyrnel;
      await files.write("out/näme #1?.json", { text: await files.text("in/a.txt") });
      await files.write("bytes", await files.read("in/b"));
      await files.write("page.html", "<script>alert(1)</script>");
      return await files.text("c");`,
    files: {
      "in/a.txt": { text: "given" },
      "in/b": { base64: Buffer.from([0, 255]).toString("base64") },
      c: { id },
    },
  });
  expect([isError, value.value]).toEqual([false, "uploaded"]);
  const json = uriOf(value.processId, "out/n%C3%A4me%20%231%3F.json");
  expect(value.artifacts).toEqual([
    { name: "out/näme #1?.json", size: 16, contentType: "application/json", uri: json },
    {
      name: "bytes",
      size: 2,
      contentType: "application/octet-stream",
      uri: uriOf(value.processId, "bytes"),
    },
    { name: "page.html", size: 25, contentType: "text/html", uri: uriOf(value.processId, "page.html") },
  ]);
  const embedded = [
    { uri: json, mimeType: "application/json", text: '{"text":"given"}' },
    {
      uri: uriOf(value.processId, "bytes"),
      mimeType: "application/octet-stream",
      blob: Buffer.from([0, 255]).toString("base64"),
    },
    {
      uri: uriOf(value.processId, "page.html"),
      mimeType: "text/html",
      text: "<script>alert(1)</script>",
    },
  ].map((resource) => ({ type: "resource", resource }));
  expect(attached).toEqual(embedded);
  const result = await call("result", { processId: value.processId });
  expect(result.value.artifacts).toEqual(value.artifacts);
  expect(result.attached).toEqual(embedded);
  const none = await call("run", { script: "return 1" });
  expect([none.attached, none.value.artifacts]).toEqual([[], undefined]);
});

test("a script that is named imports its files by paths relative to its name", async () => {
  const { call } = await connect();
  const script = 'import { x } from "./lib/x.ts"; return x';
  const files = { "src/lib/x.ts": { text: "export const x: number = 42" } };
  expect((await call("run", { script, files, name: "src/main.ts" })).value.value).toBe(42);
  expect((await call("run", { script, files })).value.success).toBe(false);
  const refused = await call("run", { script, files, name: "../main.ts" });
  expect(refused).toMatchObject({ isError: true, value: { code: "invalid_request" } });
});

test("files that cannot be given are refused by name, as over HTTP, and are not in the audit trail", async () => {
  const key = await makeKey("processes:write", "processes:read");
  const { call } = await connect(key);
  const foreign = await upload(TEST_KEY, "not this key's");
  for (const [files, name] of [
    [{ "../up": { text: "secret plan" } }, "../up"],
    [{ a: {} }, "a"],
    [{ a: { text: "secret plan", base64: "" } }, "a"],
    [{ a: { base64: "%" } }, "a"],
    [{ a: { id: "sha256-0" } }, "a"],
    [{ a: { id: foreign } }, "a"],
    [{ a: { text: "" }, "a/b": { text: "" } }, "a/b"],
    [{ a: { path: "/etc/passwd" } }, "a"],
  ] as const) {
    const refused = await call("run", { script: "return 1", files });
    expect(refused).toMatchObject({ isError: true, value: { code: "invalid_request" } });
    expect(refused.value.issues[0].path).toContain(`files.${name}`);
  }
  const { value } = await call("run", { script: "return 1", files: { a: "text" } });
  expect(value.error).toContain('{"base64": "…"}; found a text: write {"text": "…"}');
  await call("run", { script: "return 1", files: { a: { text: "secret plan" } } });
  await expect
    .poll(async () => JSON.stringify((await server.get("/audit?action=process.create")).body))
    .toContain('"files":"[redacted]"');
  expect(JSON.stringify((await server.get("/audit")).body)).not.toContain("secret plan");
});

test("larger files are links; an answer holds so much, and says what it left out", async () => {
  const { call, client } = await connect();
  const { value, attached } = await call("run", {
    script: `
      const { files } = cyrnel;
      for (let i = 0; i < 6; i++) await files.write("part" + i, "x".repeat(60_000));
      await files.write("large.txt", "y".repeat(64 * 1024));
      await files.write("huge.txt", "z".repeat(5 * 1024 * 1024));
      for (let i = 0; i < 60; i++) await files.write("small" + i, "s");`,
  });
  const shown = attached as { type: string; name?: string; size?: number; uri?: string }[];
  expect(shown).toHaveLength(50);
  expect(value.artifacts).toHaveLength(50);
  expect(value.cut).toContain("50 of 68 artifacts are shown");
  const links = shown.filter(({ type }) => type === "resource_link");
  expect(links.map(({ name }) => name)).toEqual(["part4", "part5", "large.txt", "huge.txt"]);
  expect(links[2]).toEqual({
    type: "resource_link",
    uri: uriOf(value.processId, "large.txt"),
    name: "large.txt",
    size: 65_536,
    mimeType: "text/plain",
  });
  const read = await client.readResource({ uri: uriOf(value.processId, "large.txt") });
  expect(read.contents).toEqual([
    { uri: uriOf(value.processId, "large.txt"), mimeType: "text/plain", text: "y".repeat(65_536) },
  ]);
  await expect(client.readResource({ uri: uriOf(value.processId, "huge.txt") })).rejects.toThrow(
    /5242880 bytes.*GET \/processes\/\d+\/artifacts\/huge\.txt/,
  );
});

test("a file that is too large to be read over MCP says where it is downloaded, and is there", async () => {
  const key = await makeKey("processes:write", "processes:read");
  const { call, client } = await connect(key);
  const size = 5 * 1024 * 1024;
  const { value, attached } = await call("run", {
    script: `
      await cyrnel.files.write("out/hüge #1?.bin", new Uint8Array(${size}).fill(7));
      await cyrnel.files.write("largest", new Uint8Array(4 * 1024 * 1024));`,
  });
  const [{ uri, download }, fits] = value.artifacts;
  expect(download).toBe(`/processes/${value.processId}/artifacts/out/h%C3%BCge%20%231%3F.bin`);
  expect(fits).not.toHaveProperty("download");
  const [link, whole] = attached as { description?: string; uri?: string; size?: number }[];
  expect(link).toMatchObject({ type: "resource_link", uri, size });
  expect(link?.description).toContain(`GET ${download}`);
  expect(whole).not.toHaveProperty("description");
  expect((await client.readResource({ uri: fits.uri })).contents).toHaveLength(1);
  const refusal = await client.readResource({ uri }).catch(({ message }) => message);
  expect(refusal).toContain(`has ${size} bytes`);
  expect(refusal.endsWith(`GET ${download}`)).toBe(true);

  const headers = { authorization: `Bearer ${key}`, range: `bytes=${size - 2}-` };
  const part = await fetch(server.url + download, { headers });
  expect([part.status, part.headers.get("content-range"), [...(await part.bytes())]]).toEqual([
    206,
    `bytes ${size - 2}-${size - 1}/${size}`,
    [7, 7],
  ]);
});

test("what a run left is a resource for the keys that see the process, and for no other", async () => {
  const owner = await connect(await makeKey("processes:write", "processes:read"));
  const { resourceTemplates } = await owner.client.listResourceTemplates();
  expect(resourceTemplates).toMatchObject([
    { uriTemplate: "cyrnel://processes/{processId}/artifacts/{+name}" },
  ]);
  const script = `await cyrnel.files.write("a b.txt", "mine")`;
  const { value } = await owner.call("run", { script });
  const [{ uri }] = value.artifacts;
  const mine = [{ uri, mimeType: "text/plain", text: "mine" }];
  expect((await owner.client.readResource({ uri })).contents).toEqual(mine);
  const everyone = await connect(await makeKey("processes:read", "processes:all"));
  expect((await everyone.client.readResource({ uri })).contents).toEqual(mine);

  const other = await connect(await makeKey("processes:write", "processes:read"));
  const invented = uriOf(value.processId + 1_000_000, "a%20b.txt");
  const refusal = (one: McpClient, address: string) =>
    one.client.readResource({ uri: address }).then(
      () => "read",
      ({ code, message }) => [code, message.replace(/\d+/g, "N")],
    );
  expect(await refusal(other, uri)).toEqual(await refusal(other, invented));
  expect(await refusal(other, uri)).toMatchObject([-32002, /There is no process/]);
  const writer = await connect(await makeKey("processes:write"));
  expect((await writer.client.listResourceTemplates()).resourceTemplates).toEqual([]);
  expect(await refusal(writer, uri)).toMatchObject([expect.anything(), /processes:read/]);
  // Its own run's outcome is answered to it whole, as without files.
  expect((await writer.call("run", { script })).attached).toMatchObject([{ resource: { text: "mine" } }]);

  for (const wrong of [
    uriOf(value.processId, "nothing"),
    uriOf(value.processId, "a%"),
    uriOf(value.processId, "../../1/artifacts/x"),
    uriOf(value.processId, ""),
    "cyrnel://processes/1e9/artifacts/x",
    `cyrnel://processes/${value.processId}/artifacts`,
    "file:///etc/passwd",
  ]) {
    expect([wrong, await refusal(owner, wrong)]).toMatchObject([wrong, [-32002, expect.any(String)]]);
  }
});

test("a run that a person let go on answers what it left", async () => {
  const { call } = await connect(await makeKey("processes:write", "processes:read"));
  const decider = await connect(await makeKey("approvals:decide", "processes:read", "processes:all"));
  const paused = await call("run", {
    script: `await cyrnel.files.write("a.txt", "before"); await cyrnel.ask({ message: "go on?", schema: {} });
      await cyrnel.files.append("a.txt", " and after");`,
  });
  expect([paused.value.state, paused.attached], paused.value.error).toEqual(["paused", []]);
  const { executionId } = paused.value.paused;
  const { value, attached } = await decider.call("resume", {
    execution_id: executionId,
    approved: true,
    data: {},
  });
  expect(value).toMatchObject({ success: true, approval: { state: "approved" } });
  expect(attached).toMatchObject([{ resource: { text: "before and after" } }]);
});
