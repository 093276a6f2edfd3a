import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MAX_ROLES } from "#api/access/roles/model.ts";
import { type GovernanceServer, insertTools, startGovernanceServer } from "./governance-server.ts";

let governance: GovernanceServer;
beforeAll(async () => {
  governance = await startGovernanceServer();
  await insertTools(governance.server, [
    { service: "github", tool: "read_issue" },
    { service: "github", tool: "delete_repo", destructive: true },
  ]);
});
afterAll(() => governance.server.close());

const post = (path: string, json: unknown) => governance.server.post(path, json);
const send = (method: string, path: string, json?: unknown) =>
  governance.server.request(method, path, { json });

describe("a role", () => {
  test("is made, read, changed and deleted", async () => {
    const made = await post("/roles", { name: "readers", allow: ["github.read_*"], deny: ["**.delete_*"] });
    expect(made.status).toBe(201);
    expect(made.body).toEqual({
      id: expect.stringMatching(/^role_[0-9a-f]{20}$/),
      name: "readers",
      allow: ["github.read_*"],
      deny: ["**.delete_*"],
      packages: ["*"],
      createdAt: expect.any(String),
      hints: [],
    });
    const path = `/roles/${made.body.id}`;
    expect((await governance.server.get(path)).body).toMatchObject({ name: "readers" });
    expect((await governance.server.get("/roles")).body.roles[0].id).toBe(made.body.id);
    const changed = await send("PATCH", path, { allow: ["**"] });
    expect([changed.status, changed.body.allow, changed.body.deny]).toEqual([200, ["**"], ["**.delete_*"]]);
    expect((await send("DELETE", path)).status).toBe(204);
    expect((await send("DELETE", path)).status).toBe(404);
    expect((await send("PATCH", path, { name: "x" })).status).toBe(404);
  });

  test("is taken as { id, name, patterns } too: patterns are what it allows, and are stored as that", async () => {
    const made = await post("/roles", { id: "issue-readers", name: "issues", patterns: ["github.read_*"] });
    expect(made.body).toMatchObject({ id: "issue-readers", allow: ["github.read_*"], deny: [] });
    expect(made.body).not.toHaveProperty("patterns");
    const key = await post("/keys", { name: "k", scopes: ["services:admin"], roleId: "issue-readers" });
    expect([key.status, key.body.roleId]).toEqual([201, "issue-readers"]);
    const changed = await send("PATCH", "/roles/issue-readers", { patterns: ["**"] });
    expect(changed.body.allow).toEqual(["**"]);
    const again = await post("/roles", { id: "issue-readers", name: "other" });
    expect([again.status, again.body.code]).toEqual([409, "name_taken"]);
    expect((await post("/roles", { name: "both", allow: ["a.b"], patterns: ["a.c"] })).status).toBe(400);
    expect((await post("/roles", { id: "../x", name: "path" })).status).toBe(400);
  });

  test("with a pattern that matches nothing is accepted, and the answer says so", async () => {
    const made = await post("/roles", {
      name: "hopeful",
      allow: ["gitlab.*", "github", "a.b.c"],
      deny: ["*.nothing"],
    });
    expect(made.status).toBe(201);
    expect(made.body.hints).toEqual([
      expect.stringContaining("gitlab.* matches no installed tool"),
      "github can match no tool: a path is service.tool. Did you mean github.*?",
      expect.stringContaining("a.b.c matches no installed tool"),
      expect.stringContaining("*.nothing matches no installed tool"),
    ]);
  });

  test("has a name of its own", async () => {
    await post("/roles", { name: "one" });
    const second = await post("/roles", { name: "one" });
    expect([second.status, second.body.code]).toEqual([409, "name_taken"]);
    const other = await post("/roles", { name: "two" });
    expect((await send("PATCH", `/roles/${other.body.id}`, { name: "one" })).body.code).toBe("name_taken");
  });

  test.each([
    [{ name: "x", allow: ["a.b*c*"] }, "body.allow.0"],
    [{ name: "x", allow: ["(a+)+"] }, "body.allow.0"],
    [{ name: "x", deny: [""] }, "body.deny.0"],
    [{ name: "x", allow: ["a".repeat(500)] }, "body.allow.0"],
    [{ name: "x", allow: Array(1001).fill("a.b") }, "body.allow"],
    [{ allow: ["**"] }, "body.name"],
    [{ name: "x", id: "an admin" }, "body.id"],
  ])("that is wrong is refused by path: %j", async (json, path) => {
    const answer = await post("/roles", json);
    expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"]);
    expect(answer.body.issues.map((issue: { path: string }) => issue.path)).toContain(path);
  });

  test("cannot be deleted while a key or a policy names it; a revoked key lets go of it", async () => {
    const role = (await post("/roles", { name: "held", allow: ["**"] })).body.id;
    const key = await governance.makeKey({ roleId: role });
    const refuse = async () => {
      const answer = await send("DELETE", `/roles/${role}`);
      expect([answer.status, answer.body.code]).toEqual([409, "role_in_use"]);
    };
    await refuse();
    const policy = await post("/policies", {
      servicePattern: "*",
      toolPattern: "*",
      roleId: role,
      decision: "block",
    });
    await send("DELETE", `/keys/${key.id}`);
    await refuse();
    await send("DELETE", `/policies/${policy.body.id}`);
    expect((await send("DELETE", `/roles/${role}`)).status).toBe(204);
  });

  test("a key of a role that vanishes at the same time never ends up without a role", async () => {
    for (let round = 0; round < 10; round += 1) {
      const role = (await post("/roles", { name: `race ${round}` })).body.id;
      const [key, deleted] = await Promise.all([
        post("/keys", { name: "racer", scopes: [], roleId: role }),
        send("DELETE", `/roles/${role}`),
      ]);
      expect([
        [201, 409],
        [400, 204],
      ]).toContainEqual([key.status, deleted.status]);
      if (key.status === 201) expect(key.body.roleId).toBe(role);
    }
  });

  test("there are only so many", async () => {
    const { pool } = governance.server;
    await pool`
      insert into roles (id, name, allow, deny)
      select 'role_' || lpad(to_hex(n), 20, '0'), 'filler ' || n, '{}', '{}' from generate_series(1, ${MAX_ROLES}) as n`;
    const answer = await post("/roles", { name: "one more" });
    expect([answer.status, answer.body.code]).toEqual([409, "limit_reached"]);
    await pool`delete from roles where name like 'filler %'`;
  });
});

describe("what a role shows", () => {
  const sees = (caller: { keyId?: string; roleId?: string }, path: string) => {
    const [serviceId = "", toolId = ""] = path.split(".");
    return governance.server.server.governance.gate.canSee(caller, { serviceId, toolId });
  };

  test("to its keys, at once after each change; to a key without a role everything; to a revoked one nothing", async () => {
    const role = (await post("/roles", { name: "shown", allow: ["github.*"], deny: ["**.delete_*"] })).body
      .id;
    const key = await governance.makeKey({ roleId: role });
    const free = await governance.makeKey();
    expect(sees({ keyId: key.id }, "github.read_issue")).toBe(true);
    expect(sees({ keyId: key.id }, "github.delete_repo")).toBe(false);
    expect(sees({ keyId: key.id }, "other.tool")).toBe(false);
    expect(sees({ keyId: free.id }, "github.delete_repo")).toBe(true);
    expect(sees({}, "github.delete_repo")).toBe(true);
    // What a caller claims about its role is not looked at where its key is known.
    expect(sees({ keyId: free.id, roleId: role }, "github.delete_repo")).toBe(true);

    await send("PATCH", `/roles/${role}`, { allow: [] });
    expect(sees({ keyId: key.id }, "github.read_issue")).toBe(false);
    await send("PATCH", `/roles/${role}`, { allow: ["**"], deny: [] });
    expect(sees({ keyId: key.id }, "github.delete_repo")).toBe(true);
    await send("DELETE", `/keys/${key.id}`);
    expect(sees({ keyId: key.id }, "github.read_issue")).toBe(false);
    expect(sees({ roleId: `role_${"0".repeat(20)}` }, "github.read_issue")).toBe(false);
  });
});
