/** Tools in groups of their definition (`issues.list`): over HTTP, in scripts, types, roles, policies and MCP. */

import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { BuiltinModule } from "#api/components/modules/builtins.ts";
import { TSC } from "#tests/checks/packages.ts";
import { startScripted } from "../contract/adapters/mcp/scripted-server.ts";
import { TEST_KEY } from "./harness/http-app.ts";
import { connectMcp } from "./mcp-client.ts";
import { startToolsServer, type ToolsServer } from "./tools-server.ts";

const ENVIRONMENT: BuiltinModule = {
  id: "typescript-process",
  type: "environment",
  load: () => import("#modules/typescript-process/index.ts"),
};
const MCP: BuiltinModule = { id: "mcp", type: "adapter", load: () => import("#modules/mcp/index.ts") };

let server: ToolsServer;
beforeAll(async () => {
  server = await startToolsServer({
    environment: {
      CYRNEL_API_KEY: TEST_KEY,
      CYRNEL_ISOLATION: "development",
      CYRNEL_EGRESS_ALLOW: "127.0.0.1",
    },
    environments: [ENVIRONMENT, MCP],
  });
  await server.addService("github", {
    "issues.list": {
      name: "List issues",
      description: "Every issue.",
      inputSchema: { type: "object", properties: { page: { type: "integer", default: 1 } } },
      outputSchema: { type: "array", items: { type: "string" } },
      invoke: ({ parameters }) => [`page ${parameters.page}`],
    },
    issues: { description: "How many there are.", outputSchema: { type: "integer" }, invoke: () => 2 },
    "issues.labels.delete": { destructive: true, inputSchema: NAMED },
    whoami: { invoke: () => "me" },
  });
});
afterAll(() => server?.close());

const NAMED = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
const run = async (code: string, headers?: Record<string, string>) => {
  const { body, status, text } = await server.post("/processes", { code, block: true }, headers);
  expect([status, body.exitState, body.error], text).toEqual([201, "success", null]);
  return body.result;
};
const keyWith = async (allow: string[], deny: string[]) => {
  const role = await server.post("/roles", { name: JSON.stringify([allow, deny]), allow, deny });
  expect(role.status, role.text).toBe(201);
  const key = await server.post("/keys", {
    name: "k",
    scopes: ["processes:write", "processes:read"],
    roleId: role.body.id,
  });
  return { authorization: `Bearer ${key.body.key}` };
};
const listPaths = async (query = "", headers?: Record<string, string>) => {
  const { status, body } = await server.get(`/tools?serviceId=github${query}`, headers);
  // A service of which a role shows no tool does not exist for its keys.
  return status === 404 ? [] : body.tools.map((tool: { id: string }) => tool.id).sort();
};
const ALL = ["issues", "issues.labels.delete", "issues.list", "whoami"];

test("one tool over HTTP: read, documented, called, switched; a mistyped one is told what was meant", async () => {
  expect(await listPaths()).toEqual(ALL);
  expect((await server.get("/tools/github/issues.list")).body).toMatchObject({ id: "issues.list" });
  const docs = (await server.get("/tools/github/issues.list/docs")).text;
  expect(docs).toContain("await tools.github.issues.list(");
  expect(docs).toMatch(/github: \{\n {4}issues: \{\n[\s\S]*list\(params: Input\)/);
  expect((await server.invoke("github.issues.list", {})).body).toEqual({ result: ["page 1"] });
  expect((await server.invoke("github.issues")).body).toEqual({ result: 2 });
  const misfit = await server.invoke("github.issues.labels.delete", {});
  expect(misfit.body).toMatchObject({
    code: "invalid_parameters",
    error: expect.stringContaining("github.issues.labels.delete"),
  });
  expect((await server.invoke("github.issues.lst")).body.error).toContain("Did you mean github.issues.list");
  const off = await server.post("/tools/github/issues.list/enabled", { enabled: false });
  expect(off.body).toEqual({ serviceId: "github", id: "issues.list", enabled: false });
  expect((await server.invoke("github.issues.list")).body.code).toBe("tool_disabled");
  await server.post("/tools/github/issues.list/enabled", { enabled: true });
  for (const id of ["issues.", ".list", "a..b", "issues.9", "a.b.c.d.e.f.g.h.i", "issues%2Flist"]) {
    expect((await server.get(`/tools/github/${id}`)).body.code, id).toBe("invalid_request");
  }
});

test("a script finds, describes and calls them; a group and a tool of the same name are both there", async () => {
  expect(
    await run(`
      const [found] = await tools.search({ query: "every issue" });
      const details = await tools.describe.tool({ path: found.path });
      const docs = await cyrnel.getToolDocs({ serviceId: "github", toolId: "issues.list" });
      const wrong = await tools.github.issues.labels.remove({}).catch((error) => error.message);
      return [found.path, details.id, docs.includes("tools.github.issues.list("), wrong, await tools.github.issues({}),
        await tools.github.issues.list({ page: 3 }), await cyrnel.services.github.tools.issues.list.invoke({}),
        await cyrnel.services.github.tools["issues.list"].invoke({}), await tools.github.whoami()];`),
  ).toEqual([
    "github.issues.list",
    "issues.list",
    true,
    expect.stringContaining("Did you mean github.issues.labels.delete"),
    2,
    ["page 3"],
    ["page 1"],
    ["page 1"],
    "me",
  ]);
});

test("the declarations nest, and compile", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "cyrnel-groups-"));
  try {
    const compilerOptions = { strict: true, noEmit: true, target: "es2024", lib: ["es2024"], types: [] };
    await writeFile(path.join(folder, "types.d.ts"), (await server.get("/tools/types.d.ts")).text);
    await writeFile(
      path.join(folder, "tsconfig.json"),
      JSON.stringify({ compilerOptions, include: ["*.ts"] }),
    );
    const compile = async (script: string) => {
      await writeFile(path.join(folder, "script.ts"), `export {};\n${script}`);
      return promisify(execFile)(TSC, ["-p", folder]).then(
        () => "",
        (error: { stdout: string }) => error.stdout,
      );
    };
    expect(
      await compile(`
        const pages: string[] = await tools.github.issues.list({ page: 2 });
        const count: number = await tools.github.issues();
        const same: string[] = await cyrnel.services.github.tools.issues.list.invoke();
        const sum: number = await cyrnel.services.github.tools.issues.invoke();
        await tools.github.issues.labels.delete({ name: "x" });
        await cyrnel.services.github.tools.issues.labels.delete.invoke({ name: "x" });
        export { pages, count, same, sum };`),
    ).toBe("");
    expect(await compile("await tools.github.issues.lst();")).toContain("'lst' does not exist");
    expect(await compile("await tools.github.issues.labels();")).toContain("not callable");
    expect(await compile("await cyrnel.services.github.tools.issues.labels.invoke();")).toContain("'invoke'");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("roles: * is one segment, ** any number; what is denied is denied with all that lies below it", async () => {
  for (const [allow, deny, seen] of [
    [["github.*"], [], ["issues", "whoami"]],
    [["github.**"], [], ALL],
    [["github.issues.**"], [], ["issues", "issues.labels.delete", "issues.list"]],
    [["github.issues.*"], [], ["issues.list"]],
    [["**.delete"], [], ["issues.labels.delete"]],
    [["**"], ["github.*"], []],
    [["**"], ["github.issues"], ["whoami"]],
    [["**"], ["github.issues.l*"], ["issues", "whoami"]],
  ] as const) {
    const headers = await keyWith([...allow], [...deny]);
    expect(await listPaths("", headers), `${allow} but ${deny}`).toEqual(seen);
    const called = await run(
      `return await Promise.all([tools.github.issues.list({}), tools.github.whoami({})].map((call) => call.then(() => true, (e) => e.code)));`,
      headers,
    );
    const expected = ["issues.list", "whoami"].map(
      (id) => (seen as readonly string[]).includes(id) || "not_found",
    );
    expect(called, `${allow} but ${deny}`).toEqual(expected);
  }
});

test("policies: * is any tool, a block or an ask covers what lies below, an allow does not", async () => {
  const add = async (toolPattern: string, decision: string) => {
    const made = await server.post("/policies", { servicePattern: "github", toolPattern, decision });
    expect(made.status, made.text).toBe(201);
    return made.body;
  };
  const decisions = async () => {
    const { body } = await server.get("/tools?serviceId=github");
    return Object.fromEntries(
      body.tools.map((tool: { id: string; policy: string }) => [tool.id, tool.policy]),
    );
  };
  const rules = [
    await add("issues", "allow"),
    await add("issues.labels", "ask"),
    await add("issues.*", "block"),
  ];
  expect(rules.map(({ affected }) => affected)).toEqual([1, 1, 2]);
  expect(await decisions()).toEqual({
    issues: "allow",
    "issues.labels.delete": "ask",
    "issues.list": "block",
    whoami: "allow",
  });
  expect((await server.invoke("github.issues.list")).body.code).toBe("policy_blocked");
  rules.push(await add("*", "block"));
  expect((await decisions()).whoami).toBe("block");
  const preview = await server.get("/policies/preview?servicePattern=github&toolPattern=issues.**");
  expect(preview.body.tools.map(({ id }: { id: string }) => id).sort()).toEqual(ALL.slice(0, 3));
  for (const bad of ["issues.", "a..b", "issues list"]) {
    const refused = await server.post("/policies", {
      servicePattern: "*",
      toolPattern: bad,
      decision: "ask",
    });
    expect(refused.body.code, bad).toBe("invalid_request");
  }
  for (const { id } of rules) await server.request("DELETE", `/policies/${id}`);
});

test("MCP reads them by their path", async () => {
  await using client = await connectMcp(server.url, { key: TEST_KEY });
  const path = "github.issues.list";
  const found = await client.call("search_tools", { query: "every issue" });
  expect(found.value.tools[0]).toMatchObject({ path });
  const read = await client.call("read_tool", { path });
  expect(read.value).toMatchObject({ path, example: expect.stringContaining("tools.github.issues.list(") });
  expect((await client.call("read_tool", { path: "github..list" })).isError).toBe(true);
});

test("a definition with an id that is none is refused", async () => {
  for (const id of [
    "issues.",
    "a..b",
    ".a",
    "a.b.c.d.e.f.g.h.i",
    "a.9",
    "a.__proto__",
    `a.${"b".repeat(200)}`,
  ]) {
    const refused = await server
      .addService(`wrong_${id.length}_${Math.random().toString(36).slice(2)}`, { [id]: {} })
      .catch((error: Error) => error.message);
    expect(refused, id).toContain("invalid_definition");
  }
});

test("an MCP server that names its tools in groups keeps them; a tool that comes with a sync is off", async () => {
  let names = ["issues_list"];
  await using remote = await startScripted(({ message, answer }) => {
    if (message.method !== "tools/list") return false;
    answer({ tools: names.map((name) => ({ name, inputSchema: { type: "object" } })) });
    return true;
  });
  const content = JSON.stringify({ transport: "http", url: remote.url });
  const installed = await server.post("/services", { id: "remote", adapter: "mcp", content });
  expect(installed.status, installed.text).toBe(201);
  await server.post("/services/remote/enabled", { enabled: true });
  names = ["issues/list", "issues-list"];
  const ids = async () => {
    const { body } = await server.get("/tools?serviceId=remote");
    return body.tools.map((tool: { id: string; enabled: boolean }) => [tool.id, tool.enabled]);
  };
  expect(await ids()).toEqual([["issues_list", true]]);
  const synced = await server.post("/services/remote/sync");
  expect(synced.status, synced.text).toBe(200);
  expect(await ids()).toEqual([
    ["issues_list", true],
    ["issues.list", false],
  ]);
  await server.post("/tools/remote/issues.list/enabled", { enabled: true });
  expect(await run("return await tools.remote.issues.list({})")).toBe("called issues/list");
});
