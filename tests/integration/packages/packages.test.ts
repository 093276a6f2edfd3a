/** npm packages over HTTP, from a real registry: installed, listed, imported in both environments, kept for repetitions, removed. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BUILTIN_MODULES } from "#api/components/modules/builtins.ts";
import { packageSchema, packageSummarySchema } from "#api/packages/model.ts";
import { deleteUnusedBundles } from "#api/packages/store.ts";
import { cyrnel } from "../command/cyrnel.ts";
import { startServer } from "../harness/server.ts";
import { until } from "../processes-server.ts";
import { SECRETS_KEY } from "../services-server.ts";
import { answerJson, type FrontedRegistry, type Registry, startFront, startRegistry } from "./registry.ts";
import { type PackagesServer, startPackagesServer } from "./server.ts";

const KEY = "packages-bootstrap-key-0123456789";

let registry: Registry;
let fronted: FrontedRegistry;
beforeAll(async () => {
  registry = await startRegistry();
  fronted = await startFront(registry);
  await registry.publish({
    name: "adder",
    files: {
      "index.js": 'const { one } = require("@corp/one"); exports.add = (n) => n + one;',
      "index.d.ts": "export declare function add(n: number): number;",
      "more.js": "exports.more = true;",
    },
    manifest: {
      types: "index.d.ts",
      description: "Adds.",
      dependencies: { "@corp/one": "^1.0.0" },
      exports: { ".": "./index.js", "./more": "./more.js" },
    },
  });
  await registry.publish({
    name: "@corp/one",
    files: { "index.js": "exports.one = 1;" },
    manifest: { license: "Apache-2.0" },
  });
  await registry.publish({ name: "@corp/one", version: "1.1.0", files: { "index.js": "exports.one = 10;" } });
  await registry.publish({
    name: "adder",
    version: "2.0.0-rc.1",
    files: { "index.js": "exports.add = () => 0;" },
  });
  await registry.publish({
    name: "adder",
    version: "1.0.1",
    files: { "index.js": "exports.add = (n) => n + 100;" },
  });
});
afterAll(async () => {
  await fronted?.[Symbol.asyncDispose]();
  await registry?.[Symbol.asyncDispose]();
});

test("the first run of a new server imports what comes with it, stored yet or not", async () => {
  await using server = await startServer({
    builtins: BUILTIN_MODULES.filter(({ type }) => type === "environment"),
    starterPackages: true,
  });
  const code = 'import { z } from "zod"; return z.number().parse(1);';
  const { body } = await server.post("/processes", { code, block: true });
  expect(body).toMatchObject({ exitState: "success", result: 1, packages: [{ name: "zod" }] });
  const { packages } = (await server.get("/packages?name=jszip")).body;
  const shown = packageSchema.parse((await server.get(`/packages/jszip/${packages[0].version}`)).body);
  expect(shown.tree).toHaveLength(packages[0].packages);
  expect(shown.tree.length).toBeGreaterThan(3);
  for (const { integrity, license } of shown.tree) {
    expect([integrity, license]).toEqual([expect.stringMatching(/^sha512-/), expect.any(String)]);
  }
  expect(shown.sizes.unpacked).toBe(shown.tree.reduce((sum, { bytes }) => sum + bytes, 0));
});

test("a server that was built without it says so in its log, and runs scripts", async () => {
  await using server = await startServer({
    builtins: BUILTIN_MODULES.filter(({ type }) => type === "environment"),
    starterPackages: "/nothing/was/built",
  });
  const { body } = await server.post("/processes", { code: 'import "zod";', block: true });
  expect(body.error).toContain("zod is not installed");
  expect((await server.post("/processes", { code: "return 1;", block: true })).body.result).toBe(1);
  expect(server.logs()).toContainEqual(
    expect.objectContaining({
      msg: expect.stringMatching(/starter set did not come with this server: npm ci .* and npm run build/),
      absent: expect.arrayContaining(["zod", "papaparse"]),
    }),
  );
});

describe.each(["typescript-process", "typescript-ivm"])("%s", (environmentId) => {
  let on: PackagesServer;
  beforeAll(async () => {
    on = await startPackagesServer(
      fronted.url,
      {
        CYRNEL_API_KEY: KEY,
        CYRNEL_SECRETS_KEY: SECRETS_KEY,
        CYRNEL_APPROVAL_HOLD_MS: "0",
        CYRNEL_ALLOW_SELF_APPROVAL: "true",
      },
      { environmentId },
    );
  });
  afterAll(async () => on?.[Symbol.asyncDispose]());

  test("a package is installed with its tree, shown, imported, and in the record of the run", async () => {
    const installation = await on.install("adder", { version: "1.0.0" });
    expect(installation).toMatchObject({
      state: "done",
      version: "1.0.0",
      error: null,
      createdBy: "bootstrap",
    });
    const { packages } = (await on.get("/packages")).body;
    expect(
      packageSummarySchema.parse(packages.find(({ name }: { name: string }) => name === "adder")),
    ).toMatchObject({
      version: "1.0.0",
      description: "Adds.",
      license: "MIT",
      exports: expect.arrayContaining([".", "./more"]),
      packages: 2,
      source: "registry",
      installedBy: "bootstrap",
    });
    const shown = packageSchema.parse((await on.get("/packages/adder/1.0.0")).body);
    expect(shown.tree).toMatchObject([
      { name: "adder", version: "1.0.0", path: "node_modules/adder", license: "MIT" },
      {
        name: "@corp/one",
        version: "1.1.0",
        path: "node_modules/@corp/one",
        integrity: expect.stringMatching(/^sha512-/),
      },
    ]);
    expect((await on.get("/packages/adder/1.0.0/types")).body.files["adder/index.d.ts"]).toContain(
      "declare function add",
    );

    const record = await on.run(`
      import { add } from "adder";
      import { more } from "adder/more";
      const same = await import("npm:adder@^1");
      return [add(1), more, same.add(2)];`);
    expect(record).toMatchObject({ exitState: "success", result: [11, true, 12] });
    const used = [{ name: "adder", version: "1.0.0", digest: shown.digest }];
    expect(record.packages).toEqual(used);
    expect((await on.get(`/processes/${record.id}`)).body.packages).toEqual(used);
  });

  test("one without types gets the declarations of @types, of its major version, and nothing else of them", async () => {
    const bare = { "index.js": "exports.bare = () => 1;" };
    await registry.publish({ name: "bare", version: "2.1.0", files: bare });
    await registry.publish({ name: "@corp/bare", files: bare });
    const declared = (name: string, version: string, dependencies = {}) =>
      registry.publish({
        name,
        version,
        files: { "index.d.ts": `declare const of: "${version}";`, "evil.js": "throw 1;" },
        manifest: { main: "", types: "index.d.ts", dependencies, scripts: { postinstall: "exit 1" } },
      });
    await declared("@types/deep", "1.0.0");
    await declared("@types/bare", "2.0.3", { "@types/deep": "^1.0.0", "@corp/one": "*" });
    await declared("@types/bare", "3.0.0");
    await declared("@types/corp__bare", "1.7.0");
    // It has some of its own.
    await declared("@types/adder", "1.0.0");
    const typesOf = async (name: string, version: string) => {
      expect(await on.install(name)).toMatchObject({ state: "done", error: null });
      const { tree, leftOut } = (await on.get(`/packages/${encodeURIComponent(name)}/${version}`)).body;
      const { files } = (await on.get(`/packages/${encodeURIComponent(name)}/${version}/types`)).body;
      return { members: tree.map((one: { name: string }) => one.name), leftOut, files };
    };
    const one = await typesOf("bare", "2.1.0");
    expect(one.members).toEqual(["bare", "@types/bare", "@types/deep"]);
    expect(
      Object.keys(one.files)
        .filter((file) => !file.endsWith(".json"))
        .sort(),
    ).toEqual(["@types/bare/index.d.ts", "@types/deep/index.d.ts"]);
    expect(one.files["@types/bare/index.d.ts"]).toContain("2.0.3");
    expect((await typesOf("@corp/bare", "1.0.0")).files["@types/corp__bare/index.d.ts"]).toContain("1.7.0");
    expect((await on.run('import { bare } from "bare"; return bare();')).result).toBe(1);
    expect((await on.get("/packages/adder/1.0.0")).body.tree).toHaveLength(2);
    await on.server.request("DELETE", "/packages/%40corp%2Fbare/1.0.0");
  });

  test("asking again for what is installed, or under way, does nothing twice", async () => {
    const again = await on.install("adder", { version: "1.0.0" });
    expect(again).toMatchObject({ state: "done", version: "1.0.0" });
    const [one, other] = await Promise.all([
      on.server.post("/packages", { name: "adder", range: "^1.0.0" }),
      on.server.post("/packages", { name: "adder", range: "^1.0.0" }),
    ]);
    expect(one.body.id).toBe(other.body.id);
    expect(one.headers.get("location")).toBe(`/package-installations/${one.body.id}`);
    expect(await on.install("adder", { range: "^1.0.0" })).toMatchObject({ version: "1.0.1" });
    // Of several, the one that the range means; a version before a release only where it is named.
    const { result } = await on.run(`
      const all = await Promise.all([import("adder"), import("npm:adder@1.0.0"), import("npm:adder@~1.0.0")]);
      return all.map(({ add }) => add(1));`);
    expect(result).toEqual([101, 11, 101]);
  });

  test("imports of what is not there say what is alike, and who may install", async () => {
    const { error } = await on.run('import { add } from "ader";');
    expect(error).toMatch(
      /ader is not installed\. Installed and alike: adder[^.]*\. .*cyrnel packages add ader/,
    );
    expect((await on.run('await import("npm:adder@^7")')).error).toMatch(
      /No installed version of adder fits \^7: there is 1\.0\.1/,
    );
  });

  test("types.d.ts has a line for each, and follows what is installed", async () => {
    const before = await on.get("/tools/types.d.ts");
    const tag = before.headers.get("etag") ?? "";
    await registry.publish({
      name: "declared",
      manifest: { description: "One\u2028declare const evil: 1; */ `x`\n" + "y".repeat(900) },
    });
    expect(await on.install("declared")).toMatchObject({ state: "done", error: null });
    const after = await on.server.get("/tools/types.d.ts", { "if-none-match": tag });
    expect(after.status).toBe(200);
    const lines = after.text.split(/[\n\r\u2028\u2029]/).filter((line) => line.includes("declared"));
    expect(lines).toEqual([
      expect.stringMatching(
        /^declare module "declared\*"; declare module "npm:declared\*"; \/\/ declared 1\.0\.0: One declare const evil.{1,90}…$/,
      ),
    ]);
    expect((await on.get("/tools/types.d.ts?serviceId=none")).text).not.toContain("declare module");
    await on.server.request("DELETE", "/packages/declared/1.0.0");
    expect((await on.get("/tools/types.d.ts")).headers.get("etag")).toBe(tag);
  });

  test("roles say what scripts may import and see", async () => {
    await on.install("@corp/one");
    const role = (await on.server.post("/roles", { name: `corp ${environmentId}`, packages: ["@corp/*"] }))
      .body;
    expect(role.packages).toEqual(["@corp/*"]);
    const key = (
      await on.server.post("/keys", {
        name: "corp",
        roleId: role.id,
        scopes: ["processes:write", "processes:read"],
      })
    ).body;
    const headers = { authorization: `Bearer ${key.key}` };
    const run = async (code: string) =>
      (await on.server.post("/processes", { code, block: true }, headers)).body;
    expect((await run('import { one } from "@corp/one"; return one;')).result).toBe(10);
    expect((await run('import "adder";')).error).toMatch(/role of this run does not allow the package adder/);
    const listed = (await on.server.get("/packages", headers)).body.packages;
    expect(listed.map(({ name }: { name: string }) => name)).toEqual(["@corp/one"]);
    expect((await on.server.get("/packages/adder/1.0.0", headers)).status).toBe(404);
    expect((await on.server.get("/packages/%40corp%2Fone/1.1.0", headers)).status).toBe(200);
    expect((await on.server.get("/environment/docs", headers)).text).toContain(
      "## Packages\n\n- @corp/one@1: ",
    );
    for (const [method, path] of [
      ["POST", "/packages"],
      ["DELETE", "/packages/adder/1.0.0"],
      ["GET", "/package-installations"],
    ] as const) {
      expect(
        (
          await on.server.request(method, path, {
            headers,
            ...(method === "POST" && { json: { name: "adder" } }),
          })
        ).status,
      ).toBe(403);
    }
    const admin = (
      await on.server.post("/keys", { name: "admin", roleId: role.id, scopes: ["packages:admin"] })
    ).body;
    const asAdmin = { authorization: `Bearer ${admin.key}` };
    const foreign = await on.server.post("/packages", { name: "adder" }, asAdmin);
    expect([foreign.status, foreign.body.code]).toEqual([403, "forbidden"]);
    const removed = await on.server.request("DELETE", "/packages/adder/1.0.0", { headers: asAdmin });
    expect(removed.status).toBe(404);
    expect((await on.get("/packages/adder/1.0.0")).status).toBe(200);
    const seen = (await on.server.get("/package-installations", asAdmin)).body.installations;
    expect(seen.filter(({ name }: { name: string }) => !name.startsWith("@corp/"))).toEqual([]);
    expect(seen).not.toEqual([]);
    const all = (await on.get("/package-installations")).body.installations;
    const hidden = all.find(({ name }: { name: string }) => name === "adder").id;
    expect((await on.server.get(`/package-installations/${hidden}`, asAdmin)).status).toBe(404);
    expect((await on.server.post("/packages", { name: "@corp/one" }, asAdmin)).status).toBe(202);
    // What both keys may import.
    const processId = (await run('import "@corp/one"; return 1;')).id;
    const other = (await on.server.post("/roles", { name: `none ${environmentId}`, packages: [] })).body;
    const starter = (
      await on.server.post("/keys", {
        name: "starter",
        roleId: other.id,
        scopes: ["processes:write", "processes:read", "processes:all"],
      })
    ).body;
    const started = await on.server.post(
      `/processes/${processId}/signals/run`,
      { force: true, block: true },
      { authorization: `Bearer ${starter.key}` },
    );
    expect(started.body.error).toMatch(/does not allow the package/);
  });

  test("a run that waits for a person imports the same after the package is removed and another installed", async () => {
    await registry.publish({
      name: `kept-${environmentId}`,
      files: { "index.js": 'exports.which = "first";' },
    });
    await on.install(`kept-${environmentId}`);
    const { body } = await on.server.post("/processes", {
      code: `const asked = await cyrnel.ask({ message: "go on?" });
        const { which } = await import("kept-${environmentId}"); return which;`,
    });
    const paused = await until("it waits", async () => {
      const { body: record } = await on.get(`/processes/${body.id}`);
      return record.state === "paused" && record.approvals.length > 0 && record;
    });
    expect(paused.packages).toMatchObject([{ name: `kept-${environmentId}`, version: "1.0.0" }]);
    expect((await on.server.request("DELETE", `/packages/kept-${environmentId}/1.0.0`)).status).toBe(204);
    await registry.publish({
      name: `kept-${environmentId}`,
      version: "1.0.1",
      files: { "index.js": 'exports.which = "second";' },
    });
    await on.install(`kept-${environmentId}`);
    await deleteUnusedBundles(on.server.pool, 0, 1000);
    await on.server.post(`/approvals/${paused.approvals[0]}/approve`, {});
    const { body: ended } = await on.get(`/processes/${body.id}?wait=20000`);
    expect(ended).toMatchObject({ exitState: "success", result: "first", packages: paused.packages });
    // Nothing is repeated any more.
    expect(await deleteUnusedBundles(on.server.pool, 0, 1000)).toBeGreaterThan(0);
  });

  test("what a package does at its import stays in its script", async () => {
    await registry.publish({
      name: "polluter",
      files: {
        "index.js": `
          try { Object.prototype.polluted = true; } catch {}
          try { Array.prototype.map = () => "mine"; } catch {}
          try { globalThis.JSON = null; globalThis.Promise = null; } catch {}
          try { constructor.constructor("return process")().exit(1); } catch {}
          exports.seen = typeof process;`,
      },
    });
    expect(await on.install("polluter")).toMatchObject({ state: "done" });
    await on.run('import "polluter"; return 1;');
    expect(await on.run("return [({}).polluted ?? null, [1].map((n) => n + 1)];")).toMatchObject({
      exitState: "success",
      result: [null, [2]],
    });
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  test("packages that need each other, and those that need themselves", async () => {
    await registry.publish({
      name: "cycle-a",
      files: { "index.js": 'exports.a = 1; exports.b = require("cycle-b").b;' },
      manifest: { dependencies: { "cycle-b": "*" } },
    });
    await registry.publish({
      name: "cycle-b",
      files: { "index.js": 'const { a } = require("cycle-a"); exports.b = a + 1;' },
      manifest: { dependencies: { "cycle-a": "*" } },
    });
    expect(await on.install("cycle-a")).toMatchObject({ state: "done" });
    expect((await on.run('import * as cycle from "cycle-a"; return [cycle.a, cycle.b];')).result).toEqual([
      1, 2,
    ]);
  });

  test("of code for several environments scripts get that for a neutral one", async () => {
    await registry.publish({
      name: "chameleon",
      files: {
        "node.js": 'exports.which = "node"; require("child_process").execSync("touch /tmp/chameleon");',
        "browser.js": 'exports.which = "browser " + process.env.NODE_ENV;',
      },
      manifest: {
        main: "node.js",
        exports: { ".": { node: "./node.js", browser: "./browser.js", default: "./node.js" } },
      },
    });
    expect(await on.install("chameleon")).toMatchObject({ state: "done" });
    expect((await on.run('import { which } from "chameleon"; return which;')).result).toBe(
      "browser production",
    );
  });

  test("one that tries to end the text it is put into, and one that fails when it is imported, are refused", async () => {
    await registry.publish({ name: "breaker", files: { "index.js": "}); globalThis.escaped = true; ({" } });
    expect(await on.install("breaker")).toMatchObject({ state: "failed" });
    await registry.publish({ name: "thrower", files: { "index.js": 'throw new Error("not here");' } });
    expect(await on.install("thrower")).toMatchObject({
      state: "failed",
      error: expect.stringContaining("not here"),
    });
    await registry.publish({ name: "endless-import", files: { "index.js": "for (;;);" } });
    expect(await on.install("endless-import")).toMatchObject({ state: "failed" });
  });
});

describe("what is checked", () => {
  const dated = (name: string, times: Record<string, string>) => {
    fronted.front = async ({ url }, response) => {
      if (url !== `/${name}`) return false;
      const packument = JSON.parse(
        (await (await fetch(`${registry.url}/${name}`)).text()).replaceAll(registry.url, fronted.url),
      );
      packument.time = { ...packument.time, ...times };
      return answerJson(response, packument);
    };
  };
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();

  test("cyrnel packages: add, list, show, rm; what cannot be installed ends the command", async () => {
    await using on = await startPackagesServer(fronted.url, { CYRNEL_API_KEY: KEY });
    const environment = { CYRNEL_URL: on.server.url, CYRNEL_API_KEY: KEY };
    const ask = (...args: string[]) => cyrnel(["packages", ...args], { environment });
    const added = await ask("add", "adder@1.0.0");
    expect(added.stdout, added.stderr).toContain("adder@1.0.0 is installed");
    expect((await ask("list", "--json")).json()).toMatchObject({
      packages: [expect.objectContaining({ name: "adder", version: "1.0.0", license: "MIT" })],
    });
    expect((await ask("list")).stdout).toMatch(/adder +1\.0\.0 +MIT/);
    const shown = await ask("show", "adder");
    expect(shown.stdout).toMatch(/@corp\/one@1\.1\.0 +MIT/);
    const refused = await ask("add", "not-there-at-all");
    expect([refused.code, refused.stdout]).toEqual([1, ""]);
    expect(refused.stderr).toContain("not-there-at-all");
    expect((await ask("rm", "adder@1.0.0")).code).toBe(0);
    expect((await ask("list", "--json")).json()).toEqual({ packages: [] });
    expect((await ask("show", "adder")).code).not.toBe(0);
  });

  test("minimum age: the newest that is old enough; exactly one that is not is refused", async () => {
    await using on = await startPackagesServer(fronted.url, { CYRNEL_PACKAGE_MIN_AGE_DAYS: "3" });
    await registry.publish({ name: "aged", version: "1.0.0" });
    await registry.publish({ name: "aged", version: "1.0.1" });
    dated("aged", { "1.0.0": daysAgo(10), "1.0.1": daysAgo(1) });
    expect(await on.install("aged")).toMatchObject({ state: "done", version: "1.0.0" });
    const young = await on.install("aged", { version: "1.0.1" });
    expect(young).toMatchObject({
      state: "failed",
      error: expect.stringContaining("CYRNEL_PACKAGE_MIN_AGE_DAYS"),
    });
    // A dependency counts as well.
    await registry.publish({ name: "young-dependency" });
    await registry.publish({ name: "needs-young", manifest: { dependencies: { "young-dependency": "*" } } });
    dated("needs-young", { "1.0.0": daysAgo(10) });
    expect(await on.install("needs-young")).toMatchObject({ state: "failed" });
    fronted.front = () => false;
  });

  test("advisories are recorded, malware is refused, and a source that is configured has to answer", async () => {
    await registry.publish({ name: "weakness" });
    await registry.publish({ name: "malware" });
    let isSilent = false;
    fronted.front = ({ method, url }, response) => {
      if (method !== "POST" || url !== "/advisories") return false;
      if (isSilent) return answerJson(response, {}, 500);
      return answerJson(response, {
        weakness: [
          { id: 1, title: "Slow", severity: "low", url: "https://example.com/1", vulnerable_versions: "<2" },
          { id: 3, title: "Slower", severity: "high", vulnerable_versions: ">=2.0.0 <2.1.0" },
          {
            id: 4,
            title: "Malware in weakness",
            cwe: ["CWE-506"],
            vulnerable_versions: "1.0.1 || 1.0.0-rc.1",
          },
          { id: 5, title: "Unclear", severity: "low", vulnerable_versions: "some" },
        ],
        malware: [
          {
            id: 2,
            title: "Malware in malware",
            severity: "critical",
            cwe: ["CWE-506"],
            vulnerable_versions: "*",
          },
        ],
      });
    };
    await using on = await startPackagesServer(fronted.url, {
      CYRNEL_PACKAGE_ADVISORIES: `${fronted.url}/advisories`,
    });
    expect(await on.install("weakness", { version: "1.0.0" })).toMatchObject({ state: "done" });
    // Those of the version that was installed; one that cannot be read may mean it.
    expect((await on.get("/packages/weakness/1.0.0")).body.advisories).toMatchObject([
      { title: "Slow", severity: "low" },
      { title: "Unclear", severity: "low" },
    ]);
    await registry.publish({ name: "weakness", version: "1.0.1" });
    expect(await on.install("weakness", { version: "1.0.1" })).toMatchObject({
      state: "failed",
      error: expect.stringContaining("weakness 1.0.1 is known to be malware"),
    });
    expect(await on.install("malware")).toMatchObject({
      state: "failed",
      error: expect.stringContaining("malware"),
    });
    isSilent = true;
    await registry.publish({ name: "unasked" });
    expect(await on.install("unasked")).toMatchObject({
      state: "failed",
      error: expect.stringContaining("advisories"),
    });
    fronted.front = () => false;
  });

  test("a registry without advisories is no obstacle where none is configured", async () => {
    await registry.publish({ name: "unlisted" });
    fronted.front = ({ method }, response) => method === "POST" && answerJson(response, {}, 404);
    await using on = await startPackagesServer(fronted.url, { CYRNEL_PACKAGE_ADVISORIES: "registry" });
    expect(await on.install("unlisted")).toMatchObject({ state: "done" });
    expect((await on.get("/packages/unlisted/1.0.0")).body.advisories).toBeNull();
    fronted.front = () => false;
  });

  test("egress rules apply to the registry", async () => {
    await using on = await startPackagesServer(fronted.url, { CYRNEL_EGRESS_ALLOW: "" });
    expect(await on.install("adder")).toMatchObject({
      state: "failed",
      error: expect.stringContaining("CYRNEL_EGRESS_ALLOW"),
    });
  });

  test("the audit trail has who asked, what came of it, and who removed it; the metrics count", async () => {
    await using on = await startPackagesServer(fronted.url, { CYRNEL_API_KEY: KEY });
    await on.install("adder", { version: "1.0.0" });
    await on.install("not-there");
    await on.server.request("DELETE", "/packages/adder/1.0.0");
    const { records } = (await on.get("/audit")).body;
    const about = records
      .filter(({ action }: { action: string }) => action.startsWith("package."))
      .map(({ action, outcome, object }: Record<string, { id?: string }>) => [action, outcome, object?.id]);
    expect(about).toEqual([
      ["package.delete", "ok", "adder@1.0.0"],
      ["package.installed", "failed", "not-there@latest"],
      ["package.install", "ok", expect.stringMatching(/^inst_/)],
      ["package.installed", "ok", "adder@1.0.0"],
      ["package.install", "ok", expect.stringMatching(/^inst_/)],
    ]);
    const { text } = await on.get("/metrics");
    expect(text).toMatch(/cyrnel_package_installation_seconds_count\{outcome="done"\} 1/);
    expect(text).toMatch(/cyrnel_package_installation_seconds_count\{outcome="failed"\} 1/);
  });
});
