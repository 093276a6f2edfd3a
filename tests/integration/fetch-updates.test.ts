/** What a new definition of rules must not do by itself: send a secret elsewhere, or allow more while its service is enabled. */
import { createSecretKey } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { BUILTIN_MODULES } from "#api/components/modules/builtins.ts";
import { createKeyring } from "#api/secrets/keyring.ts";
import { createRedactor } from "#api/secrets/redactor.ts";
import { createVault } from "#api/secrets/vault.ts";
import { createTestDatabase } from "./harness/database.ts";
import { type Answer, startServer, type TestServer } from "./harness/server.ts";
import { builtin } from "./modules-server.ts";
import { ScriptedEnvironment } from "./scripted-environment.ts";
import { SECRETS_KEY } from "./services-server.ts";

const builtins = [
  builtin({ id: "typescript-process" }, () => new ScriptedEnvironment()),
  ...BUILTIN_MODULES.filter(({ id }) => id === "http"),
];
const environment = { CYRNEL_SECRETS_KEY: SECRETS_KEY };
const ONE = "https://one.example";
const OTHER = "https://other.example";

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ builtins, environment });
});
afterAll(() => server?.close());
beforeEach(async () => {
  await server.request("DELETE", "/services/web");
});

const ok = async (answer: Promise<Answer>): Promise<Answer["body"]> => {
  const { status, text, body } = await answer;
  expect(status, text).toBeLessThan(300);
  return body;
};
const bearer = { type: "bearer" };
const rule = (name: string, origin: string, more: object = {}) => ({
  name,
  origins: [origin],
  methods: ["GET"],
  auth: bearer,
  ...more,
});
const write = (rules: object[]) => ({ content: JSON.stringify({ rules }) });
const replace = (rules: object[]) => server.request("PATCH", "/services/web", { json: write(rules) });
const enable = (enabled = true) => server.post("/services/web/enabled", { enabled });
const setSecrets = (...names: string[]) =>
  server.request("PATCH", "/services/web/secrets", {
    json: names.map((name) => ({ op: "add", path: `/${name}`, value: `planted-token-of-${name}` })),
  });

async function install(rules: object[]): Promise<void> {
  await ok(server.post("/services", { id: "web", adapter: "http", ...write(rules) }));
  await ok(setSecrets(...rules.map((rule) => (rule as { name: string }).name)));
  await ok(enable());
}

describe("a secret does not go to the origin of another rule", () => {
  const swaps: [string, object[], string[]][] = [
    ["two rules swap theirs", [rule("read", OTHER), rule("list", ONE)], ["list", "read"]],
    ["two rules swap names", [rule("list", ONE), rule("read", OTHER)], ["list", "read"]],
    [
      "a rule gets that of another too",
      [
        rule("read", ONE, { origins: [ONE, OTHER], pathPrefix: "/a" }),
        rule("list", OTHER, { pathPrefix: "/b" }),
      ],
      ["read"],
    ],
  ];
  const rules = [
    rule("read", ONE),
    rule("list", OTHER),
    rule("open", OTHER, { auth: undefined, pathPrefix: "/open", methods: ["POST"] }),
  ];

  test.each(swaps)("when %s", async (_what, changed, outdated) => {
    await ok(server.post("/services", { id: "web", adapter: "http", ...write(rules) }));
    await ok(setSecrets("read", "list"));
    await ok(enable());
    const refused = await replace(changed);
    expect([refused.status, refused.body?.code], refused.text).toEqual([409, "secrets_outdated"]);
    expect(refused.body.error).toContain(`${ONE} (rule read)`);
    expect(refused.body.error).toContain(`${OTHER} (rule read)`);
    expect(refused.body.error).toContain(`set ${outdated.join(", ")} again`);
    expect(refused.body.issues.map(({ path }: { path: string }) => path).sort()).toEqual(
      outdated.map((name) => `secrets/${name}`),
    );
    await ok(enable(false));
    await ok(replace(changed));
    const pointers = outdated.map((name) => `/${name}`);
    expect((await ok(server.get("/services/web/secrets"))).outdated).toEqual(pointers);
    expect((await enable()).body.code).toBe("secrets_outdated");
    // Not by setting another one, nor by giving the old value to another rule.
    const kept = await setSecrets("list");
    expect([kept.status, kept.body?.code], kept.text).toEqual([409, "secrets_outdated"]);
    await ok(setSecrets(...outdated));
    await ok(enable());
  });

  test("a new rule with a secret asks for its own only, and makes no request before that", async () => {
    await install([rule("read", ONE)]);
    const rules = [rule("read", ONE, { pathPrefix: "/v1" }), rule("open", OTHER, { pathPrefix: "/open" })];
    await ok(replace(rules));
    expect(await ok(server.get("/services/web/secrets"))).toEqual({ present: ["/read"], outdated: [] });
    await ok(server.post("/tools/web/open/enabled", { enabled: true }));
    const parameters = { url: `${OTHER}/open`, method: "GET" };
    const early = await server.post("/tools/web/open/invoke", { parameters });
    expect([early.body.code, early.body.error]).toEqual([
      "tool_failed",
      expect.stringContaining("none is set"),
    ]);
    const patch = (...json: object[]) => server.request("PATCH", "/services/web/secrets", { json });
    for (const op of ["copy", "move"]) {
      const stolen = await patch({ op, from: "/read", path: "/open" });
      expect([stolen.status, stolen.body.code], stolen.text).toEqual([400, "invalid_request"]);
    }
    await ok(setSecrets("open"));
    // One that was there before is bound as it was.
    await ok(replace([rule("read", ONE)]));
    const back = await replace([rule("read", ONE), rule("open", ONE, { methods: ["POST"] })]);
    expect([back.status, back.body.code], back.text).toEqual([409, "secrets_outdated"]);
    expect(back.body.issues.map(({ path }: { path: string }) => path)).toEqual(["secrets/open"]);
  });

  test("one that goes nowhere else is kept: fewer origins, another path, a new open rule", async () => {
    await install([rule("read", ONE, { origins: [ONE, OTHER] })]);
    await ok(replace([rule("read", ONE, { pathPrefix: "/v1" }), rule("open", OTHER, { auth: undefined })]));
    expect((await ok(server.get("/services/web/secrets"))).outdated).toEqual([]);
  });

  test("as many rules with as many origins as there may be can be used", async () => {
    const many = Array.from({ length: 100 }, (_, index) =>
      rule(`rule${index}`, "", {
        origins: Array.from({ length: 20 }, (_, host) => `https://${"x".repeat(60)}.host${host}.example`),
        pathPrefix: `/${index}/`,
      }),
    );
    await install(many);
  });
});

test("secrets that were bound to all origins of their service together are asked for again", async () => {
  await using database = await createTestDatabase({ maxConnections: 10 });
  const before = await startServer({ builtins, environment, database });
  const rules = [rule("read", ONE), rule("list", OTHER)];
  await ok(before.post("/services", { id: "web", adapter: "http", ...write(rules) }));
  await before.stop();
  const vault = createVault(createKeyring(createSecretKey(SECRETS_KEY, "base64")), createRedactor());
  const values = { read: "planted-token-of-read", list: "planted-token-of-list" };
  await vault.write(database.pool, { kind: "service", id: "web" }, values, 0, [ONE, OTHER]);
  await using after = await startServer({ builtins, environment, database });
  const answer = await after.post("/services/web/enabled", { enabled: true });
  expect([answer.status, answer.body.code]).toEqual([409, "secrets_outdated"]);
});

test("a secret that is too short to be found in answers is refused when it is set, with the reason", async () => {
  await ok(server.post("/services", { id: "web", adapter: "http", ...write([rule("read", ONE)]) }));
  const short = { json: [{ op: "add", path: "/read", value: "short12" }] };
  const answer = await server.request("PATCH", "/services/web/secrets", short);
  expect([answer.status, answer.body.code], answer.text).toEqual([400, "invalid_request"]);
  expect(answer.text).toContain("8 characters");
  expect(answer.text).not.toContain("short12");
});

describe("a rule that is changed while its service is enabled starts disabled", () => {
  const before = rule("read", ONE, { auth: undefined, pathPrefix: "/v1" });
  const enabledAfter = async (changed: object) => {
    await ok(server.post("/services", { id: "web", adapter: "http", ...write([before]) }));
    await ok(enable());
    await ok(replace([changed]));
    const { tools } = await ok(server.get("/tools?serviceId=web"));
    return tools.map(({ enabled }: { enabled: boolean }) => enabled);
  };

  test.each<[string, object]>([
    ["another origin", { origins: [OTHER] }],
    ["any path", { pathPrefix: "/" }],
    ["another method", { methods: ["GET", "DELETE"] }],
    ["a credential", { auth: bearer }],
    ["a fixed header", { headers: { "X-Tenant": "other" } }],
    ["larger bodies", { maxRequestBytes: 64 * 1024 * 1024 }],
    ["redirects", { redirects: "same-origin" }],
  ])("by %s", async (_what, change) => {
    expect(await enabledAfter({ ...before, ...change })).toEqual([false]);
  });

  test("but not by words about it, nor when it is written otherwise", async () => {
    const { name, methods } = before;
    const same = { methods, pathPrefix: "/v1", origins: [`${ONE}:443/`], name, description: "Reads." };
    expect(await enabledAfter(same)).toEqual([true]);
  });
});
