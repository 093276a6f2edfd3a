/** Folders and imported files of `cyrnel run`, on a server: up before the run, artifacts down after it. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BUILTIN_MODULES } from "#api/components/modules/builtins.ts";
import { TEST_KEY } from "../harness/http-app.ts";
import { startToolsServer, type ToolsServer } from "../tools-server.ts";
import { type CommandOptions, cyrnel, type Folder, makeFolder, startCyrnel } from "./cyrnel.ts";

const MIB = 1024 * 1024;

let server: ToolsServer;
let folder: Folder;
beforeAll(async () => {
  folder = await makeFolder();
  server = await startToolsServer({
    environment: {
      CYRNEL_API_KEY: TEST_KEY,
      CYRNEL_ISOLATION: "development",
      CYRNEL_MAX_FILE_BYTES: String(3 * MIB),
      CYRNEL_MAX_WORKSPACE_BYTES: String(5 * MIB),
    },
    environments: BUILTIN_MODULES.filter(({ type }) => type === "environment"),
  });
});
afterAll(async () => {
  await folder?.[Symbol.asyncDispose]();
  await server?.close();
});

const atServer = (key = TEST_KEY): CommandOptions => ({
  environment: { CYRNEL_URL: server.url, CYRNEL_API_KEY: key },
});
const run = (script: string, ...flags: string[]) => cyrnel(["run", script, ...flags], atServer());
const read = (...path: string[]) => readFileSync(join(folder.path, ...path));
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

test("--dir goes up and --artifacts come down, byte by byte", async () => {
  const bytes = Buffer.from(Uint8Array.from({ length: 2.5 * MIB }, (_, index) => (index * 7) % 251));
  await folder.write("data/in/ä b%2f#?.csv", "id\n1\n");
  await folder.write("data/empty", "");
  await folder.write("data/node_modules/a.js", "x");
  await writeFile(join(folder.path, "data/bytes"), bytes);
  const script = await folder.write(
    "up.ts",
    `const { files } = cyrnel;
    await files.write("out/bytes", (await files.read("bytes")).reverse());
    await files.append("in/ä b%2f#?.csv", "2\\n");
    await files.write("none", "");
    return [(await files.list()).map(({ name }) => name), (await files.stat("empty")).size];`,
  );
  const out = join(folder.path, "out");
  const ended = await run(script, "--dir", join(folder.path, "data"), "--artifacts", out);
  expect([ended.stderr, ended.code]).toEqual(["", 0]);
  expect(JSON.parse(ended.stdout)).toEqual([["bytes", "empty", "in/ä b%2f#?.csv", "none", "out/bytes"], 0]);
  expect(read("out", "in/ä b%2f#?.csv").toString()).toBe("id\n1\n2\n");
  expect(read("out", "none")).toHaveLength(0);
  expect(sha256(read("out", "out/bytes"))).toBe(sha256(Buffer.from(bytes).reverse()));
});

test("what was complete when a run failed or was stopped by Ctrl-C comes down", async () => {
  const failing = await folder.write(
    "fails.ts",
    'await cyrnel.files.write("a.txt", "kept"); throw new Error("no")',
  );
  const failed = await run(failing, "--artifacts", join(folder.path, "failed"));
  expect([failed.code, read("failed", "a.txt").toString()]).toEqual([1, "kept"]);
  const waiting = await folder.write(
    "waits.ts",
    'await cyrnel.files.write("a.txt", "kept"); console.log("up"); await new Promise((done) => setTimeout(done, 60_000))',
  );
  const started = startCyrnel(["run", waiting, "--artifacts", join(folder.path, "killed")], atServer());
  while (!started.stdout().includes("up")) await sleep(20);
  started.child.kill("SIGINT");
  expect((await started.ended).code).toBe(6);
  expect(read("killed", "a.txt").toString()).toBe("kept");
});

test("a file or a folder over the server's limits, and a key without the scope, are refused by name", async () => {
  const script = await folder.write("one.ts", "return 1");
  await writeFile(join(await makeData("large"), "big.bin"), Buffer.alloc(3 * MIB + 1));
  const large = await run(script, "--dir", join(folder.path, "large"));
  expect(large.stderr).toContain("big.bin was not uploaded: The file is too large: at most 3145728 bytes");
  expect(large.code).toBe(2);

  const many = await makeData("many");
  for (const name of ["a", "b"]) await writeFile(join(many, name), Buffer.alloc(2.6 * MIB, name));
  const over = await run(script, "--dir", many);
  expect(over.stderr).toContain("5242880");
  expect(over.code).toBe(2);

  const { key } = (await server.post("/keys", { name: "reader", scopes: ["processes:read"] })).body;
  const denied = await cyrnel(["run", script, "--dir", await makeData("some")], atServer(key));
  expect(denied.stderr).toMatch(/f\.txt was not uploaded: .*processes:write.*\[/);
  expect(denied.code).toBe(77);
});

test.each([
  { says: "../x", as: { name: "../x", size: 4 }, why: "the name " },
  { says: "/etc/x", as: { name: "/etc/x", size: 4 }, why: "the name " },
  { says: "a longer file", as: { name: "a.txt", size: 5 }, why: "the server named 5 bytes and sent 4." },
  { says: "a shorter file", as: { name: "a.txt", size: 3 }, why: "the server named 3 bytes and sent more." },
])("a server that says $says has nothing written", async ({ as, why }) => {
  const script = await folder.write("one.ts", 'await cyrnel.files.write("a.txt", "text")');
  const proxy = createServer((request, response) => {
    const answer = async () => {
      const { status, headers, body } = await fetch(server.url + request.url, {
        method: request.method ?? "GET",
        headers: { authorization: `Bearer ${TEST_KEY}`, "content-type": "application/json" },
        ...(request.method === "POST" && { body: Readable.toWeb(request) as ReadableStream, duplex: "half" }),
      });
      response.writeHead(status, { "content-type": headers.get("content-type") ?? "" });
      if (!/^\/processes\/\d+$/.test(request.url ?? ""))
        return Readable.fromWeb(body as never).pipe(response);
      const record = (await new Response(body).json()) as { artifacts: object[] };
      record.artifacts = record.artifacts.map((artifact) => ({ ...artifact, ...as }));
      return response.end(JSON.stringify(record));
    };
    answer().catch(() => response.destroy());
  });
  await new Promise<void>((listening) => proxy.listen(0, "127.0.0.1", listening));
  const { port } = proxy.address() as AddressInfo;
  const out = join(folder.path, "hostile/out");
  const ended = await cyrnel(["run", script, "--artifacts", out], {
    environment: { CYRNEL_URL: `http://127.0.0.1:${port}` },
  });
  proxy.close();
  expect(ended.stderr).toContain(`artifact ${JSON.stringify(as.name)} was not written: ${why}`);
  expect(ended.code).toBe(1);
  expect(existsSync(out) ? readdirSync(out) : []).toEqual([]);
  expect(existsSync(join(folder.path, "hostile/x"))).toBe(false);
});

test.each([[[]], [["--local"]]])(
  "nothing is written where git or Node would run it, and all else is (%s)",
  async (how) => {
    const hostile = [
      ".git/config",
      ".git",
      "sub/.GIT/hooks/pre-commit",
      "sub/.git ./config",
      "sub/.g\u200cit/config",
      "sub/.git::$INDEX_ALLOCATION/config",
      "GIT~1/config",
      "node_modules/x/index.js",
      "sub/Node_Modules./x/index.js",
      "NODE_M~1/x.js",
    ];
    const script = await folder.write(
      "programs.ts",
      `for (const name of ["a.txt", ...cyrnel.input, ".github/workflows/ci.yml", "z/.gitignore"]) await cyrnel.files.write(name, name).catch(() => {});`,
    );
    for (const [index, name] of hostile.entries()) {
      const out = join(folder.path, `programs-${how.length}-${index}`);
      const input = await folder.write("names.json", JSON.stringify([name]));
      const ended = await run(script, "--artifacts", out, "--input", input, ...how);
      expect([name, ended.code]).toEqual([name, 1]);
      expect(ended.stderr).toContain(`has ended; its artifact `);
      expect(ended.stderr).toContain("nothing is written into .git and node_modules");
      const there = readdirSync(out, { recursive: true, withFileTypes: true }).filter((entry) =>
        entry.isFile(),
      );
      expect(there.map((entry) => entry.name).sort()).toEqual([".gitignore", "a.txt", "ci.yml"]);
    }
  },
  120_000,
);

test.each([[[]], [["--local"]]])(
  "an artifact that cannot be written hides nothing of how the script ended (%s)",
  async (how) => {
    const artifacts = ["--artifacts", join(folder.path, `hidden-${how.length}`)];
    const write = 'await cyrnel.files.write(".git/x", "1");';
    const lost = 'cyrnel: [^\n]* has ended; its artifact "\\.git/x" was not written: ';

    const returns = await folder.write("returns.ts", `${write} return { important: 1 }`);
    const returned = await run(returns, ...artifacts, ...how);
    expect([returned.code, returned.stdout]).toEqual([1, '{"important":1}\n']);
    expect(returned.stderr).toMatch(new RegExp(`^${lost}`));

    const asJson = await run(returns, ...artifacts, ...how, "--json");
    expect(asJson.json()).toMatchObject({ exitState: "success", result: { important: 1 }, exitCode: 1 });
    expect(JSON.parse(asJson.stderr)).toMatchObject({
      error: expect.stringContaining(".git/x"),
      exitCode: 1,
    });

    const throws = await folder.write("throws.ts", `${write} throw new TypeError("mine")`);
    const thrown = await run(throws, ...artifacts, ...how);
    expect(thrown.code).toBe(1);
    expect(thrown.stderr).toMatch(new RegExp(`TypeError: mine .*\\[script_error\\]\n${lost}`));

    const spins = await folder.write("spins.ts", `${write} while (true) {}`);
    const spun = await run(spins, ...artifacts, ...how, "--timeout", "500ms");
    expect(spun.code).toBe(3);
    expect(spun.stderr).toMatch(new RegExp(`\\[timeout\\]\n${lost}`));
  },
  60_000,
);

test.each([[[]], [["--local"]]])(
  "a folder that artifacts cannot be written to is refused before the script runs (%s)",
  async (how) => {
    const script = await folder.write("one.ts", 'console.log("ran"); await cyrnel.files.write("a", "1")');
    const dangling = join(folder.path, `nowhere-${how.length}`);
    await symlink(join(folder.path, "not/there"), dangling);
    for (const { path, found } of [
      { path: "", found: "an empty name" },
      { path: script, found: "is not a folder" },
      { path: join(script, "sub"), found: `${script} is not a folder` },
      { path: "/proc/x/y", found: "/proc is of /proc" },
      { path: join(dangling, "sub"), found: "no such file" },
    ]) {
      const refused = await run(script, "--artifacts", path, ...how);
      expect([path, refused.code, refused.stdout]).toEqual([path, 2, ""]);
      expect(refused.stderr).toContain(found);
    }
    const made = join(folder.path, `made-${how.length}`, "deep");
    expect((await run(script, "--artifacts", made, ...how)).code).toBe(0);
    expect(readFileSync(join(made, "a"), "utf8")).toBe("1");
  },
  60_000,
);

async function makeData(name: string): Promise<string> {
  await folder.write(`${name}/f.txt`, "x");
  return join(folder.path, name);
}
