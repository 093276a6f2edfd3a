/** Real scripts in the default environment, under keys with roles and policies, calling tools of an installed service. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BUILTIN_MODULES } from "#api/components/modules/builtins.ts";
import { TEST_KEY } from "./harness/http-app.ts";
import { type Answer, startServer, type TestServer } from "./harness/server.ts";
import { builtin } from "./modules-server.ts";
import { until } from "./processes-server.ts";
import { define, ScriptedAdapter } from "./scripted-adapter.ts";

let server: TestServer;
const adapter = new ScriptedAdapter();

interface Caller {
  id: string;
  request(method: string, path: string, json?: unknown): Promise<Answer>;
  run(code: string): Promise<Answer["body"]>;
}

function callerWith(key: string, id: string): Caller {
  const request: Caller["request"] = (method, path, json) =>
    server.request(method, path, { json, headers: { authorization: `Bearer ${key}` } });
  return {
    id,
    request,
    run: async (code) => {
      const answer = await request("POST", "/processes", { code, block: true });
      expect([answer.status, answer.body.exitState, answer.body.error]).toEqual([201, "success", null]);
      return answer.body;
    },
  };
}

async function makeKey(allow: string[] | null, deny: string[] = []): Promise<Caller> {
  const name = `key ${Math.random()}`;
  const role = allow && (await server.post("/roles", { name, allow, deny })).body.id;
  const scopes = ["processes:write", "processes:read"];
  const { key, id } = (await server.post("/keys", { name, scopes, roleId: role })).body;
  return callerWith(key, id);
}

async function addPolicy(json: Record<string, unknown>): Promise<string> {
  const answer = await server.post("/policies", json);
  expect(answer.status).toBe(201);
  return answer.body.id;
}

beforeAll(async () => {
  server = await startServer({
    environment: { CYRNEL_API_KEY: TEST_KEY },
    builtins: [...BUILTIN_MODULES, builtin({ id: "scripted", type: "adapter" }, () => adapter)],
  });
  for (const [id, tools] of [
    ["github", ["read_issue", "delete_repo", "delete_issue"]],
    ["vault", ["open_safe"]],
  ] as const) {
    const content = define({ tools: [...tools], name: id });
    expect((await server.post("/services", { id, adapter: "scripted", content })).status).toBe(201);
    expect((await server.post(`/services/${id}/enabled`, { enabled: true })).status).toBe(200);
  }
});
afterAll(() => server.close());

const LOOK_EVERYWHERE = `
  const seen = [];
  const look = async (what, ask) => {
    try { seen.push([what, "ok", await ask()]); }
    catch (error) { seen.push([what, error.code, error.message.replaceAll(what.split(" ").at(-1), "<asked>")]); }
  };
  await look("search", () => tools.search({ query: "delete" }));
  await look("search all", () => tools.search({ query: "safe" }));
  await look("discover services", () => cyrnel.discoverServices());
  await look("discover tools", () => cyrnel.discoverTools({}));
  await look("service github", () => cyrnel.getService("github"));
  await look("service vault", () => cyrnel.getService("vault"));
  await look("describe github.delete_repo", () => tools.describe.tool({ path: "github.delete_repo" }));
  await look("tool delete_repo", () => cyrnel.getTool({ serviceId: "github", toolId: "delete_repo" }));
  await look("docs delete_repo", () => cyrnel.getToolDocs({ serviceId: "github", toolId: "delete_repo" }));
  await look("call github.delete_repo", () => tools.github.delete_repo({ text: "x" }));
  await look("mistyped github.delete_rep", () => tools.github.delete_rep({}));
  await look("other vault.open_safe", () => tools.vault.open_safe({}));
  return seen;
`;

describe("what a role hides", () => {
  test("a script does not find, however it asks; another without the role finds all of it", async () => {
    const limited = await makeKey(["github.*"], ["**.delete_repo"]);
    const { result } = await limited.run(LOOK_EVERYWHERE);
    const text = JSON.stringify(result.map(([, ...answer]: unknown[]) => answer));
    // What it asked for itself is in the messages as <asked>; nothing else names it.
    expect(text).not.toContain("delete_repo");
    expect(text).not.toContain("open_safe");
    expect(text).toContain("delete_issue");
    const outcomes = Object.fromEntries(result.map(([what, how]: [string, string]) => [what, how]));
    expect(outcomes).toMatchObject({
      "service vault": "not_found",
      "describe github.delete_repo": "not_found",
      "tool delete_repo": "not_found",
      "docs delete_repo": "not_found",
      "call github.delete_repo": "not_found",
      "other vault.open_safe": "not_found",
    });

    const free = await makeKey(null);
    const all = JSON.stringify((await free.run(LOOK_EVERYWHERE)).result);
    expect(all).toContain("delete_repo");
    expect(all).toContain("open_safe");
  });

  test("looks to a script like what was never there", async () => {
    const limited = await makeKey(["github.read_issue"]);
    const { result } = await limited.run(`
      const ask = async (path) => {
        const [serviceId, toolId] = path.split(".");
        const errors = [];
        for (const call of [
          () => tools[serviceId][toolId]({}),
          () => cyrnel.getTool({ serviceId, toolId }),
          () => cyrnel.getToolDocs({ serviceId, toolId }),
        ]) {
          try { await call(); errors.push("worked"); }
          catch (error) { errors.push([error.name, error.code, error.status, error.message.replaceAll(path, "<path>")]); }
        }
        return errors;
      };
      return [await ask("github.delete_repo"), await ask("github.delete_repx"), await ask("vault.open_safe"), await ask("wault.open_safe")];
    `);
    expect(result[0]).toEqual(result[1]);
    expect(result[2]).toEqual(result[3]);
  });

  test("an administrator with the role installs, reads and deletes what it shows a tool of, and nothing else", async () => {
    const role = (await server.post("/roles", { name: "administrators", allow: ["mine.*"] })).body.id;
    const scopes = ["services:admin"];
    const { key, id } = (await server.post("/keys", { name: "administrator", scopes, roleId: role })).body;
    const { request } = callerWith(key, id);
    const install = (service: string) => {
      const content = define({ tools: ["open"], name: service });
      return request("POST", "/services", { id: service, adapter: "scripted", content });
    };
    const refused = await install("others");
    expect([refused.status, refused.body.code]).toEqual([403, "forbidden"]);
    expect((await server.get("/services/others")).status).toBe(404);
    expect((await install("vault")).body.code).toBe("service_taken");
    for (const [method, path] of [
      ["GET", ""],
      ["DELETE", ""],
      ["GET", "/config"],
    ] as const) {
      expect((await request(method, `/services/vault${path}`)).status).toBe(404);
    }
    expect((await server.get("/services/vault")).status).toBe(200);

    expect((await install("mine")).status).toBe(201);
    expect((await request("GET", "/services")).body.services.map((one: { id: string }) => one.id)).toEqual([
      "mine",
    ]);
    expect((await request("POST", "/services/mine/enabled", { enabled: true })).status).toBe(200);
    expect((await request("DELETE", "/services/mine")).status).toBe(204);
  });

  test("HTTP does not show or call it either", async () => {
    const limited = await makeKey(["github.read_issue"]);
    const get = (path: string) => limited.request("GET", path);
    for (const path of ["/tools", "/tools?query=delete", "/tools?serviceId=github", "/tools/types.d.ts"]) {
      const answer = await get(path);
      expect([path, answer.status]).toEqual([path, 200]);
      expect(answer.text).not.toMatch(/delete_repo|delete_issue|open_safe/);
    }
    expect((await get("/tools")).text).toContain("read_issue");
    for (const path of [
      "/tools/github/delete_repo",
      "/tools/github/delete_repo/docs",
      "/tools/vault/open_safe",
    ]) {
      expect([path, (await get(path)).status]).toEqual([path, 404]);
    }
    const invoked = await limited.request("POST", "/tools/github/delete_repo/invoke", {});
    expect(invoked.status).toBe(404);
    expect((await limited.request("POST", "/tools/github/read_issue/invoke", {})).status).toBe(200);
  });
});

describe("while a script runs", () => {
  const LOOP = `
    for (;;) {
      try { await tools.github.read_issue({}); }
      catch (error) { return error.code; }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  `;
  const started = (id: number) =>
    until("it has called", async () => (await server.get(`/processes/${id}/calls`)).body.calls.length > 2);

  test("its key is revoked: from then on it sees and calls nothing", async () => {
    const caller = await makeKey(null);
    const { id } = (await caller.request("POST", "/processes", { code: LOOP })).body;
    await started(id);
    await server.request("DELETE", `/keys/${caller.id}`);
    const record = (await server.get(`/processes/${id}?wait=20000`)).body;
    expect([record.exitState, record.result]).toEqual(["success", "not_found"]);
  });

  test("a policy is added: the next call is blocked", async () => {
    const caller = await makeKey(["**"]);
    const { id } = (await caller.request("POST", "/processes", { code: LOOP })).body;
    await started(id);
    const policy = await addPolicy({ servicePattern: "github", toolPattern: "read_*", decision: "block" });
    const record = (await server.get(`/processes/${id}?wait=20000`)).body;
    expect([record.exitState, record.result]).toEqual(["success", "policy_blocked"]);
    await server.request("DELETE", `/policies/${policy}`);
  });

  test("a process that was submitted keeps its key's role, whoever runs it", async () => {
    const limited = await makeKey(["github.read_issue"]);
    const code = `try { await tools.github.delete_repo({}); return "called"; } catch (error) { return error.code; }`;
    const { id } = (await limited.request("POST", "/processes", { code, autorun: false })).body;
    const record = (await server.post(`/processes/${id}/signals/run`, { block: true })).body;
    expect(record.result).toBe("not_found");
  });
});

describe("calls in the audit trail", () => {
  const records = async (query: string) =>
    (await server.get(`/audit?action=tool.call&limit=200&${query}`)).body.records;

  test("each with its decision, its rule, its process and its key; a denial tried again 500 times is 500 records", async () => {
    const caller = await makeKey(null);
    const policy = await addPolicy({
      servicePattern: "github",
      toolPattern: "delete_issue",
      decision: "block",
    });
    const record = await caller.run(`
      let denied = 0;
      for (let n = 0; n < 500; n += 1) {
        try { await tools.github.delete_issue({ text: "n" + n }); } catch { denied += 1; }
      }
      await tools.github.read_issue({ text: "once" });
      return denied;
    `);
    expect(record.result).toBe(500);
    const count = async () => {
      const [row] = await server.pool<{ count: number }[]>`
        select count(*)::int as count from audit_log where process_id = ${record.id}`;
      return row?.count;
    };
    await until("all are stored", async () => (await count()) === 501);
    const [last, denied] = await records(`processId=${record.id}`);
    expect(last).toMatchObject({
      actor: { kind: "key", id: caller.id },
      object: { kind: "tool", id: "github.read_issue" },
      outcome: "ok",
      decision: "allow",
      policyId: null,
      processId: record.id,
      parameters: { text: "once" },
    });
    expect(denied).toMatchObject({
      object: { kind: "tool", id: "github.delete_issue" },
      outcome: "refused",
      code: "policy_blocked",
      decision: "block",
      policyId: policy,
    });
    await server.request("DELETE", `/policies/${policy}`);
  });

  test("also a direct call over HTTP, and one of a tool that is hidden", async () => {
    const limited = await makeKey(["github.read_issue"]);
    await limited.request("POST", "/tools/github/read_issue/invoke", { parameters: { text: "direct" } });
    await limited.request("POST", "/tools/vault/open_safe/invoke", {});
    const found = await until("both are stored", async () => {
      const mine = await records(`actor=${limited.id}`);
      return mine.length === 2 && mine;
    });
    expect(found.map(({ outcome, code, processId }: Answer["body"]) => [outcome, code, processId])).toEqual([
      ["failed", "not_found", null],
      ["ok", null, null],
    ]);
  });
});
