/** Secrets of modules: handed to setup, never handed out, kept with the module and gone with it. */
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { adapterEntries, type ModulesBench, openModulesBench, placeFiles, takeEvents } from "./bench.ts";

const TOKEN = "swordfish-0123456789";
const secretsSchema = {
  type: "object",
  properties: { token: { type: "string", minLength: 8 }, "with/slash": { type: "string" } },
  required: ["token"],
  additionalProperties: false,
};

let bench: ModulesBench | null = null;
beforeEach(() => void takeEvents());
afterEach(async () => {
  await bench?.[Symbol.asyncDispose]();
  bench = null;
});

async function open(body: string, environment: Record<string, string> = {}): Promise<ModulesBench> {
  bench = await openModulesBench({
    environment,
    prepare: (directory) =>
      placeFiles(
        path.join(directory, "vaulted"),
        adapterEntries("vaulted", "v1", { body, manifest: { secretsSchema } }),
      ),
  });
  return bench;
}

const RECORD = `adapter.setup = async (context) => { events.push("token " + context.secrets.token); };`;

function patch(operations: unknown, headers: Record<string, string> = {}) {
  return (bench as ModulesBench).server.request("PATCH", "/modules/vaulted/secrets", {
    json: operations,
    headers,
  });
}

test("values are checked, handed to setup, named by pointer only, and kept over a restart", async () => {
  const { server, enable, restart, module } = await open(RECORD);
  expect((await server.get("/modules/vaulted/secrets/schema")).body).toEqual({ secretsSchema });
  expect((await server.get("/modules/vaulted/secrets")).body).toEqual({ present: [], outdated: ["/token"] });
  const refused = await enable("vaulted");
  expect([refused.status, refused.body.code]).toEqual([502, "module_failed"]);
  expect(refused.body.error).toContain("Its secrets do not match their schema: secrets.token");

  const tooShort = await patch([{ op: "add", path: "/token", value: "short" }]);
  expect([tooShort.status, tooShort.body.code]).toEqual([400, "invalid_request"]);
  expect(tooShort.text).not.toContain('"short"');
  // Before it is enabled they may come one by one.
  expect((await patch([{ op: "add", path: "/with~1slash", value: "x" }])).body).toEqual({ updated: true });
  const stored = await patch([{ op: "add", path: "/token", value: TOKEN }]);
  expect([stored.status, stored.body]).toEqual([200, { updated: true }]);
  expect((await server.get("/modules/vaulted/secrets")).body).toEqual({
    present: ["/with~1slash", "/token"],
    outdated: [],
  });
  expect((await enable("vaulted")).status).toBe(200);
  expect(takeEvents()).toContain(`token ${TOKEN}`);
  await restart();
  expect(takeEvents()).toContain(`token ${TOKEN}`);
  expect((await module("vaulted")).state).toBe("active");
});

test("an enabled module is started anew with a changed secret, and the change is refused when it does not start", async () => {
  const { enable, module } = await open(
    `adapter.setup = async (context) => {
      events.push("token " + context.secrets.token);
      if (context.secrets.token.startsWith("wrong")) throw new Error("401 for " + context.secrets.token);
    };`,
  );
  await patch([{ op: "add", path: "/token", value: TOKEN }]);
  await enable("vaulted");
  takeEvents();
  const answer = await patch([{ op: "replace", path: "/token", value: "wrong-password-42" }]);
  expect([answer.status, answer.body.code]).toEqual([502, "module_failed"]);
  expect(answer.text).not.toContain("wrong-password-42");
  expect(answer.body.error).toContain("401 for [secret]");
  expect(takeEvents()).toEqual(["token wrong-password-42"]);
  const missing = await patch([{ op: "remove", path: "/token" }]);
  expect(missing.status).toBe(400);
  expect((await patch([{ op: "replace", path: "/token", value: "another-password" }])).status).toBe(200);
  expect(takeEvents()).toEqual(["token another-password", "teardown v1"]);
  expect(await module("vaulted")).toMatchObject({ state: "active", error: null });
});

test("two admins at once: the second one is told", async () => {
  const { server } = await open(RECORD);
  await patch([{ op: "add", path: "/token", value: TOKEN }]);
  const tag = (await server.get("/modules/vaulted/secrets")).headers.get("etag") ?? "";
  expect(
    (await patch([{ op: "replace", path: "/token", value: "first-change" }], { "if-match": tag })).status,
  ).toBe(200);
  const late = await patch([{ op: "replace", path: "/token", value: "second-change" }], { "if-match": tag });
  expect([late.status, late.body.code]).toEqual([412, "precondition_failed"]);
});

test("a value can neither be read nor guessed, and is in no table and no answer", async () => {
  const { server, enable } = await open(
    `adapter.setup = async (context) => {
      context.logger.info({ token: context.secrets.token, nested: [{ again: "Bearer " + context.secrets.token }] }, "token is " + context.secrets.token);
      throw new Error("refused " + context.secrets.token);
    };`,
  );
  await patch([{ op: "add", path: "/token", value: TOKEN }]);
  const guess = await patch([{ op: "test", path: "/token", value: TOKEN }]);
  expect([guess.status, guess.body.code]).toEqual([400, "invalid_request"]);
  const answer = await enable("vaulted");
  expect(answer.body.error).toContain("refused [secret]");
  const answers = await Promise.all(
    ["/modules/vaulted", "/modules/vaulted/secrets", "/modules/vaulted/config", "/modules"].map((route) =>
      server.get(route),
    ),
  );
  for (const { text } of [answer, guess, ...answers]) expect(text).not.toContain(TOKEN);
  expect((await server.get("/modules/vaulted")).body.error).toContain("[secret]");
  const tables = await server.pool<{ name: string }[]>`
    select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`;
  expect(tables.length).toBeGreaterThan(5);
  for (const { name } of tables) {
    const rows = await server.pool`select to_json(t)::text as row from ${server.pool(name)} t`;
    expect(JSON.stringify(rows), name).not.toContain(TOKEN);
  }
});

test("deleting the module deletes them: a module of the same id finds none", async () => {
  const { server, directory } = await open(RECORD);
  await patch([{ op: "add", path: "/token", value: TOKEN }]);
  expect((await server.request("DELETE", "/modules/vaulted")).status).toBe(204);
  await placeFiles(
    path.join(directory, "vaulted"),
    adapterEntries("vaulted", "v2", { manifest: { secretsSchema } }),
  );
  await server.post("/modules/reload");
  expect((await server.get("/modules/vaulted/secrets")).body.present).toEqual([]);
});

test("without a key nothing is stored, and the answer says so", async () => {
  const { server } = await open(RECORD, { CYRNEL_SECRETS_KEY: "" });
  const answer = await patch([{ op: "add", path: "/token", value: TOKEN }]);
  expect([answer.status, answer.body.code]).toEqual([500, "secrets_key_missing"]);
  expect((await server.get("/modules/vaulted/secrets")).body.present).toEqual([]);
});
