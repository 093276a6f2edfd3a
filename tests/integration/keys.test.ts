import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MAX_LIVE_KEYS } from "#api/access/keys/model.ts";
import { SCOPES } from "#api/http/auth.ts";
import { type GovernanceServer, startGovernanceServer } from "./governance-server.ts";
import { until } from "./processes-server.ts";

let governance: GovernanceServer;
beforeAll(async () => {
  governance = await startGovernanceServer();
});
afterAll(() => governance.server.close());

describe("a new key", () => {
  test("is shown once, works at once, and only its hash is stored", async () => {
    const { server } = governance;
    const created = await server.post("/keys", { name: "  ci  ", scopes: ["processes:read"] });
    expect(created.status).toBe(201);
    const { key, id, prefix } = created.body;
    expect(created.body).toEqual({
      id: expect.stringMatching(/^key_[0-9a-f]{20}$/),
      key: expect.stringMatching(/^cyk_[A-Za-z0-9_-]{43}$/),
      name: "ci",
      prefix: key.slice(0, 12),
      scopes: ["processes:read"],
      roleId: null,
      createdAt: expect.any(String),
      expiresAt: null,
      lastUsedAt: null,
    });
    expect(created.headers.get("location")).toBe(`/keys/${id}`);
    expect((await governance.callerWith(key).get("/processes")).status).toBe(200);

    const listed = (await server.get("/keys")).body.keys[0];
    expect(listed).toMatchObject({ id, name: "ci", prefix });
    expect(listed).not.toHaveProperty("key");
    const [row] = await server.pool<{ text: string; hash: Buffer }[]>`
      select to_json(api_keys)::text as text, hash from api_keys where id = ${id}`;
    expect(row?.hash).toEqual(createHash("sha256").update(key).digest());
    expect(row?.text).not.toContain(key.slice(12));
    expect(JSON.stringify(server.logs())).not.toContain(key.slice(4));
  });

  test("may do what its scopes say and nothing else; the answer names the scope that is missing", async () => {
    const reader = await governance.makeKey({ scopes: ["processes:read"] });
    expect((await reader.get("/processes")).status).toBe(200);
    const refused = await reader.send("POST", "/processes", { code: "print x" });
    expect([refused.status, refused.body.code]).toEqual([403, "forbidden"]);
    expect(refused.body.error).toContain("processes:write");
    expect((await reader.get("/keys")).body.error).toContain("keys:admin");
    expect((await reader.get("/audit")).body.error).toContain("logs:read");
  });

  test.each([
    ["an unknown scope", { name: "x", scopes: ["everything"] }, "body.scopes.0"],
    ["a scope twice", { name: "x", scopes: ["logs:read", "logs:read"] }, "body.scopes"],
    ["no name", { scopes: [] }, "body.name"],
    ["a blank name", { name: " ", scopes: [] }, "body.name"],
    ["a name with control characters", { name: "a\u001b[31m", scopes: [] }, "body.name"],
    ["a role that is none", { name: "x", scopes: [], roleId: `role_${"0".repeat(20)}` }, "body.roleId"],
    ["a role id that is none", { name: "x", scopes: [], roleId: "admin" }, "body.roleId"],
    ["an expiry in the past", { name: "x", scopes: [], expiresAt: "2001-01-01T00:00:00Z" }, "body.expiresAt"],
    ["an expiry that is no time", { name: "x", scopes: [], expiresAt: "tomorrow" }, "body.expiresAt"],
    ["a key of its own choice", { name: "x", scopes: [], key: "cyk_mine" }, "body"],
  ])("%s is refused by name", async (_title, json, path) => {
    const answer = await governance.server.post("/keys", json);
    expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"]);
    expect(answer.body.issues.map((issue: { path: string }) => issue.path)).toContain(path);
  });

  test("when it was used is kept to the minute, without a write per request", async () => {
    const caller = await governance.makeKey({ name: "used", scopes: ["processes:read"] });
    await Promise.all(Array.from({ length: 50 }, () => caller.get("/processes")));
    const read = async () => {
      const { keys } = (await governance.server.get("/keys")).body;
      return keys.find((key: { id: string }) => key.id === caller.id).lastUsedAt;
    };
    const first = await until("the use is noted", async () => (await read()) ?? false);
    expect(Date.now() - Date.parse(first)).toBeLessThan(60_000);
    await caller.get("/processes");
    const [row] = await governance.server.pool`
      select xmin::text as version from api_keys where id = ${caller.id}`;
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const [later] = await governance.server.pool`
      select xmin::text as version from api_keys where id = ${caller.id}`;
    expect(later?.version).toBe(row?.version);
  });
});

describe("a key that counts no more", () => {
  test("answers 401 from the moment its revocation was answered, and is gone from the list", async () => {
    const caller = await governance.makeKey({ scopes: ["processes:read"] });
    expect((await caller.get("/processes")).status).toBe(200);
    expect((await governance.server.request("DELETE", `/keys/${caller.id}`)).status).toBe(204);
    expect((await caller.get("/processes")).status).toBe(401);
    expect((await governance.server.get("/keys")).text).not.toContain(caller.id);
    const again = await governance.server.request("DELETE", `/keys/${caller.id}`);
    expect([again.status, again.body.code]).toEqual([404, "not_found"]);
  });

  test("revoked by itself, it still gets the answer to that", async () => {
    const admin = await governance.makeKey({ scopes: ["keys:admin"] });
    expect((await admin.send("DELETE", `/keys/${admin.id}`)).status).toBe(204);
    expect((await admin.get("/keys")).status).toBe(401);
  });

  test("expires by itself", async () => {
    const soon = await governance.makeKey({
      scopes: ["processes:read"],
      expiresAt: new Date(Date.now() + 1500).toISOString(),
    });
    expect((await soon.get("/processes")).status).toBe(200);
    await until("the key has expired", async () => (await soon.get("/processes")).status === 401);
  });

  test("its event streams end, and a request that waits gets no answer", async () => {
    const { server } = governance;
    const caller = await governance.makeKey({ scopes: ["processes:read", "processes:write"] });
    const { id } = (await caller.send("POST", "/processes", { code: "gate revoked" })).body;
    const stream = await fetch(`${server.url}/processes/${id}/events`, {
      headers: { authorization: `Bearer ${caller.key}` },
    });
    const ended = stream.text().then(
      () => "ended",
      () => "cut off",
    );
    const waiting = caller.get(`/processes/${id}?wait=60000`);
    await server.request("DELETE", `/keys/${caller.id}`);
    expect(await ended).toBe("cut off");
    governance.environment.open("revoked");
    expect((await waiting).status).toBe(401);
    expect((await server.get(`/processes/${id}?wait=5000`)).body.state).toBe("idle");
  });

  test("is noticed by another server of the same database", async () => {
    await using other = await startGovernanceServer({ database: governance.server.database });
    const caller = await governance.makeKey({ scopes: ["processes:read"] });
    const there = other.callerWith(caller.key);
    // Made a moment ago by the first server.
    expect((await there.get("/processes")).status).toBe(200);
    await governance.server.request("DELETE", `/keys/${caller.id}`);
    await until(
      "the other server has heard of it",
      async () => (await there.get("/processes")).status === 401,
    );
  });
});

describe("what is no key", () => {
  test.each([
    ["nothing", ""],
    ["something else", "hello-this-is-not-a-key-of-yours"],
    ["a key that was never made", `cyk_${"A".repeat(43)}`],
    ["a key cut short", `cyk_${"A".repeat(42)}`],
    ["a key with more", `cyk_${"A".repeat(44)}`],
    ["a hash", createHash("sha256").update("x").digest("hex")],
  ])("%s answers 401", async (_title, key) => {
    const answer = await governance.callerWith(key).get("/processes");
    expect([answer.status, answer.body.code]).toEqual([401, "unauthorized"]);
  });

  test("the stored hash does not work as a key", async () => {
    const caller = await governance.makeKey({ scopes: ["processes:read"] });
    const [row] = await governance.server.pool<{ hash: Buffer }[]>`
      select hash from api_keys where id = ${caller.id}`;
    for (const key of [row?.hash.toString("hex"), `cyk_${row?.hash.toString("base64url")}`]) {
      expect((await governance.callerWith(key ?? "").get("/processes")).status).toBe(401);
    }
  });

  test("a flood of invented keys costs the database no query each, and does not keep a real one waiting", async () => {
    const real = await governance.makeKey({ scopes: ["processes:read"] });
    const { pool } = governance.server;
    let queries = 0;
    pool.options.debug = () => {
      queries += 1;
    };
    const flood = Array.from({ length: 400 }, (_, index) =>
      governance.callerWith(`cyk_${String(index).padStart(43, "x")}`).get("/processes"),
    );
    expect((await real.get("/processes")).status).toBe(200);
    const answers = await Promise.all(flood);
    pool.options.debug = false;
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
    // Looks are shared by all that wait for one; alone they would be 400.
    expect(queries).toBeLessThan(300);
  });
});

describe("bounds and lists", () => {
  test("the list goes page by page, newest first, and refuses foreign cursors", async () => {
    for (const name of ["p1", "p2", "p3"]) await governance.makeKey({ name });
    const first = await governance.server.get("/keys?limit=2");
    expect(first.body.keys.map((key: { name: string }) => key.name)).toEqual(["p3", "p2"]);
    const second = await governance.server.get(`/keys?limit=2&cursor=${first.body.nextCursor}`);
    expect(second.body.keys[0].name).toBe("p1");
    const foreign = await governance.server.get(`/roles?cursor=${first.body.nextCursor}`);
    expect([foreign.status, foreign.body.code]).toEqual([400, "invalid_cursor"]);
  });

  test("there are only so many keys", async () => {
    const { pool } = governance.server;
    await pool`
      insert into api_keys (id, name, prefix, hash, scopes)
      select 'key_' || lpad(to_hex(n), 20, '0'), 'filler', 'cyk_fill', sha256(n::text::bytea), '{}'
      from generate_series(1, ${MAX_LIVE_KEYS}) as n`;
    try {
      const answer = await governance.server.post("/keys", { name: "one more", scopes: [] });
      expect([answer.status, answer.body.code]).toEqual([409, "limit_reached"]);
    } finally {
      await pool`delete from api_keys where name = 'filler'`;
    }
    expect((await governance.server.post("/keys", { name: "again", scopes: [...SCOPES] })).status).toBe(201);
  });
});

describe("without a bootstrap key", () => {
  test("everyone on this machine is let in, but a stored key counts as what it is", async () => {
    await using anonymous = await startGovernanceServer({ environment: { CYRNEL_API_KEY: "" } });
    const { server } = anonymous;
    expect((await server.get("/keys")).status).toBe(200);
    const reader = await anonymous.makeKey({ scopes: ["processes:read"] });
    expect((await reader.get("/processes")).status).toBe(200);
    expect((await reader.get("/keys")).status).toBe(403);
    await server.request("DELETE", `/keys/${reader.id}`);
    expect((await reader.get("/processes")).status).toBe(401);
    expect((await anonymous.callerWith("some-other-text").get("/keys")).status).toBe(200);
  });
});
