/** Installed packages become one text, which runs in scripts; nothing of them is executed on the host, nothing outside is read. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { instantiate } from "#modules/typescript-process/index.ts";
import { type BundledPackage, bundlePackage } from "#runner/packages/bundle.ts";
import { type Bench, openBench } from "#tests/contract/bench.ts";
import type { PackageBindings } from "#tests/contract/packages.ts";

let folder: string;
let modules: string;
let bench: Bench & AsyncDisposable;
const bundles = new Map<string, BundledPackage>();
const packages: PackageBindings = {
  async findPackage(_eid, { name }) {
    return bundles.get(name) ?? { message: `${name} was not bundled.` };
  },
  async readPackage(_eid, digest) {
    const found = [...bundles.values()].find((bundle) => bundle.digest === digest);
    if (found === undefined) throw new Error("There is no such bundle.");
    return found;
  },
};

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "cyrnel-bundle-"));
  modules = path.join(folder, "node_modules");
  bench = await openBench({ instantiate, config: { maxConcurrency: 2 }, packages });
});
afterAll(async () => {
  await bench?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** Packages that the tests have anyway, as their authors publish them. */
const REAL: [name: string, folder: string, code: string, result: unknown][] = [
  [
    "jose",
    "node_modules",
    'import * as jose from "jose"; const key = new TextEncoder().encode("a secret of at least 32 bytes....."); const token = await new jose.SignJWT({ a: 1 }).setProtectedHeader({ alg: "HS256" }).setExpirationTime("2h").sign(key); const { payload, protectedHeader } = await jose.jwtVerify(token, await jose.importJWK({ kty: "oct", k: jose.base64url.encode(key), alg: "HS256" })); return [payload.a, protectedHeader.alg, await jose.jwtVerify(token, new Uint8Array(32)).catch((e) => e.code)]',
    [1, "HS256", "ERR_JWS_SIGNATURE_VERIFICATION_FAILED"],
  ],
  [
    "jsonwebtoken",
    "tests/packages/node_modules/verdaccio/node_modules",
    'import jwt from "jsonwebtoken"; const token = jwt.sign({ a: 1 }, "k", { algorithm: "HS512" }); let no; try { jwt.verify(token, "other") } catch (e) { no = e.message } return [jwt.verify(token, "k").a, no]',
    [1, "invalid signature"],
  ],
];

/** Writes a package of these files. */
async function install(name: string, files: Record<string, string>, manifest: object = {}): Promise<void> {
  const all = { "package.json": JSON.stringify({ name, version: "1.2.3", ...manifest }), ...files };
  for (const [file, text] of Object.entries(all)) {
    const place = path.join(modules, name, file);
    await mkdir(path.dirname(place), { recursive: true });
    await writeFile(place, text);
  }
}

async function bundle(name: string): Promise<BundledPackage> {
  const made = await bundlePackage(modules, name);
  if ("problem" in made) throw new Error(made.problem);
  bundles.set(name, made);
  return made;
}

async function resultOf(code: string): Promise<unknown> {
  const { error, result } = await bench.run(code);
  if (error !== undefined) throw new Error(`${error.message}\n${error.stack}`);
  return result;
}

describe("what is bundled", () => {
  test("ES modules with conditions, paths and patterns", async () => {
    await install(
      "esm",
      {
        "index.js":
          'export * from "./a.js"; export { default } from "./a.js"; import data from "./d.json" with { type: "json" }; export { data };',
        "a.js": "export let n = 1; export const up = () => { n++; }; export default class Thing {}",
        "node.js": "export const place = 'node';",
        "web.js": "export const place = 'web';",
        "d.json": '{"x": 1}',
        "locale/de.js": "export default 'Hallo';",
        "locale/en.js": "export default 'Hello';",
        "locale/_private.d.ts": "export {}",
        "index.d.ts": "export declare let n: number;",
      },
      {
        type: "module",
        exports: {
          ".": { types: "./index.d.ts", default: "./index.js" },
          "./where": { node: "./node.js", default: "./web.js" },
          "./locale/*": "./locale/*.js",
          "./package.json": "./package.json",
          "./hidden": null,
        },
      },
    );
    const made = await bundle("esm");
    expect(made).toMatchObject({ name: "esm", version: "1.2.3", builtins: [], missing: [] });
    expect(made.exports).toEqual([".", "./where", "./locale/de", "./locale/en"]);
    expect(Object.keys(made.types)).toEqual([
      "esm/package.json",
      "esm/index.d.ts",
      "esm/locale/_private.d.ts",
    ]);
    expect(
      await resultOf(
        'import Thing, { n, up, data } from "esm"; import { place } from "esm/where"; import de from "esm/locale/de"; const before = n; up(); return [before, n, data.x, place, de, Thing.name]',
      ),
    ).toEqual([1, 2, 1, "web", "Hallo", "Thing"]);
    const { error } = await bench.run('import { none } from "esm"; return none');
    expect(error?.message).toBe('The package esm has no export named "none". There are data, n, up.');
  });

  test("CommonJS: default is what it exports, names are those it has when it is loaded", async () => {
    await install("cjs", {
      "index.js":
        "exports.a = 1; exports['b'] = () => this === exports; exports.dir = __dirname; exports.env = process.env.NODE_ENV; exports.global = global === globalThis; exports.buffer = Buffer.from('hi').toString('hex'); exports.self = self === globalThis && self.self === self && typeof self; exports.nextTick = typeof process.nextTick; exports.versions = Object.keys(process.versions);",
      "lib.js": "module.exports = function lib() { return 'called' }; module.exports.extra = 2;",
      "compiled/index.js":
        "Object.defineProperty(exports, '__esModule', { value: true }); exports.default = 'own'; exports.named = 3;",
      "gulpfile.js": "throw new Error('a tool')",
    });
    const made = await bundle("cjs");
    expect(made.exports).toEqual([".", "./compiled", "./lib"]);
    expect(made.builtins).toEqual(["buffer"]);
    expect(
      await resultOf(
        'import cjs, { a, b, dir, env, global, self, buffer, nextTick, versions } from "cjs"; import lib, { extra } from "cjs/lib.js"; import own, { named } from "cjs/compiled"; return [cjs.a, a, b(), dir, env, global, self, buffer, nextTick, versions, lib(), extra, own, named]',
      ),
    ).toEqual([1, 1, true, "/", "production", true, "object", "6869", "function", [], "called", 2, "own", 3]);
  });

  test("modules of Node: those a script has are its own; others throw where they are used", async () => {
    await install("nodes", {
      "index.js":
        "const http = require('node:http'), { EventEmitter } = require('events'), os = require('os'); let optional; try { optional = require('not-installed') } catch (error) { optional = error.code } class Agent extends http.Agent {} module.exports = { EventEmitter, optional, eol: os.EOL, get() { return http.get('http://a') }, agent: () => new Agent(), load: (name) => require(name) };",
    });
    const made = await bundle("nodes");
    expect(made).toMatchObject({ builtins: ["events"], missing: ["http", "not-installed"] });
    expect(
      await resultOf(
        'import nodes from "nodes"; import events from "node:events"; const tell = (f) => { try { return f() } catch (e) { return e.message } }; return [nodes.EventEmitter === events.EventEmitter, nodes.optional, nodes.eol, tell(nodes.get), tell(nodes.agent), tell(() => nodes.load("child_process"))]',
      ),
    ).toEqual([
      true,
      "MODULE_NOT_FOUND",
      "\n",
      expect.stringMatching(/^http\.get is not available in a script: use the global fetch/),
      expect.stringMatching(/^http\.Agent is not available/),
      expect.stringMatching(/child_process/),
    ]);
  });

  test("what is replaced for browsers, dependencies of its own, and cycles", async () => {
    await install("dep", { "index.js": "exports.dep = 'outer'" });
    await install("cyclic-a", { "index.js": "exports.b = require('cyclic-b'); exports.a = 1" }, {});
    await install("cyclic-b", {
      "index.js": "const a = require('cyclic-a'); exports.seen = a.a ?? 'not yet'",
    });
    await install(
      "web",
      {
        "index.js":
          "exports.fs = require('fs'); exports.place = require('./place'); exports.dep = require('dep').dep; exports.b = require('cyclic-a').b.seen; exports.later = () => import('./later.js');",
        "place.js": "module.exports = 'server'",
        "place-web.js": "module.exports = 'web'",
        "later.js": "exports.late = true",
        "node_modules/dep/package.json": '{"name": "dep", "version": "0.1.0"}',
        "node_modules/dep/index.js": "exports.dep = 'inner'",
      },
      { browser: { fs: false, "./place.js": "./place-web.js" } },
    );
    const made = await bundle("web");
    expect(made.builtins).toEqual([]);
    expect(made.code).not.toMatch(/\bimport\(/);
    expect(
      await resultOf(
        'import web from "web"; return [Object.keys(web.fs), web.place, web.dep, web.b, (await web.later()).late]',
      ),
    ).toEqual([[], "web", "inner", "not yet", true]);
  });

  test("what browsers do not have is an empty module: a file, one beside it, a folder, a package", async () => {
    const node = "throw new Error('for Node only')";
    await install("node-only", { "index.js": node });
    await install(
      "emptied",
      {
        "index.js":
          "const all = [require('./util.inspect'), require('./lib/deep.js'), require('./folder'), require('node-only')]; exports.all = all; exports.own = require('./lib/kept').inner;",
        // A file that could not even be bundled.
        "util.inspect.js": "require('./addon.node')",
        "addon.node": "\u007fELF",
        "lib/deep.js": "const a = ;",
        "lib/kept.js": "exports.inner = [require('./deep'), require('../util.inspect.js')]",
        "folder/index.js": node,
      },
      {
        browser: {
          "./util.inspect.js": false,
          "lib/deep.js": false,
          "./folder/index.js": false,
          "node-only": false,
        },
      },
    );
    await install(
      "emptied-esm",
      {
        "index.js":
          'import * as all from "./server.js"; import one, { two } from "./server.js"; export { all, one, two };',
        "server.js": `export const two = 2; ${node}`,
      },
      { type: "module", browser: { "./server.js": false } },
    );
    const made = await bundle("emptied");
    expect(made.code).not.toMatch(/for Node only|cannot be read|no JavaScript/);
    await bundle("emptied-esm");
    expect(
      await resultOf(
        'import { all, own } from "emptied"; import * as esm from "emptied-esm"; return [all, own, esm.two ?? null, esm.one]',
      ),
    ).toEqual([[{}, {}, {}, {}], [{}, {}], null, {}]);
  });

  test("errors name the file and the line of the package", async () => {
    await install(
      "fails",
      {
        "index.js": 'import { fail } from "./lib/deep.js";\nexport const go = () => fail();',
        "lib/deep.js": "// a comment\n\nexport function fail() {\n  throw new TypeError('deep');\n}",
      },
      { type: "module" },
    );
    await bundle("fails");
    const { error } = await bench.run('import { go } from "fails";\n\n  go();');
    expect(error).toMatchObject({ name: "TypeError", line: 3, column: 3 });
    expect(error?.stack).toMatch(
      /at fail \(fails@1\.2\.3\/lib\/deep\.js:4:\d+\)\n.*fails@1\.2\.3\/index\.js:2:/,
    );
  });
});

describe("packages of others", () => {
  test.each(REAL)("%s", async (name, place, code, result) => {
    const made = await bundlePackage(path.resolve(import.meta.dirname, "../..", place), name);
    if ("problem" in made) throw new Error(made.problem);
    bundles.set(name, made);
    expect(await resultOf(code)).toEqual(result);
  });
});

describe("what is refused", () => {
  const problemOf = async (name: string) => {
    const made = await bundlePackage(modules, name);
    return "problem" in made ? made.problem : made.code;
  };

  test("native addons, WebAssembly, and packages without code", async () => {
    await install("native", { "index.js": "module.exports = 1", "binding.gyp": "{}" });
    await install("prebuilt", { "index.js": "module.exports = require('./a.node')", "a.node": "\u007fELF" });
    await install("wasm", { "index.js": "import './a.wasm'", "a.wasm": "" }, { type: "module" });
    await install("typed", { "index.d.ts": "export {}" }, { types: "index.d.ts" });
    expect(await problemOf("native")).toMatch(/native addon/);
    expect(await problemOf("prebuilt")).toMatch(/native addon \(.*a\.node\)/);
    expect(await problemOf("wasm")).toMatch(/WebAssembly/);
    expect(await problemOf("typed")).toMatch(/exports nothing/);
    expect(await problemOf("none")).toMatch(/./);
  });

  test("a file that cannot be read throws where it is reached; the main one refuses the package", async () => {
    await install("broken-part", {
      "index.js": "exports.a = 1; exports.b = () => require('./part')",
      "part.js": "const a = ;",
    });
    await bundle("broken-part");
    expect(
      await resultOf(
        'import p from "broken-part"; let m; try { p.b() } catch (e) { m = e.message } return [p.a, m]',
      ),
    ).toEqual([1, expect.stringMatching(/part\.js cannot be read/)]);
    await install("broken", { "index.js": "const a = ;" });
    expect(await problemOf("broken")).toMatch(/cannot be bundled: .*Unexpected/);
    await install("waits", { "index.js": "export const a = await 1;" }, { type: "module" });
    expect(await problemOf("waits")).toMatch(/[Tt]op-level await/);
  });

  test("files outside of the folder, through paths and links", async () => {
    await writeFile(path.join(folder, "secret.json"), '{"password": "PLANTED"}');
    await writeFile(path.join(folder, "secret.js"), 'module.exports = "PLANTED"');
    await install("climbs", { "index.js": "module.exports = require('../../secret.json')" });
    await install("absolute", {
      "index.js": `module.exports = require(${JSON.stringify(path.join(folder, "secret.js"))})`,
    });
    await install("linked", { "index.js": "module.exports = require('./link.json')" });
    await symlink(path.join(folder, "secret.json"), path.join(modules, "linked/link.json"));
    await install("mapped", { "index.js": "module.exports = 1\n//# sourceMappingURL=../../secret.json" });
    for (const name of ["climbs", "absolute", "linked", "mapped"]) {
      expect(await problemOf(name), name).not.toContain("PLANTED");
    }
    expect(await problemOf("climbs")).toMatch(/outside of the packages folder/);
    expect(await problemOf("linked")).toMatch(/outside of the packages folder/);
  });

  describe("what is beyond the bounds", () => {
    const MIB = 1024 * 1024;

    test("a file, all files together, and what becomes of them", async () => {
      await install("huge", { "index.js": `/*${" ".repeat(16 * MIB)}*/` });
      expect(await problemOf("huge")).toMatch(/^It is too large/);
      const parts = Array.from({ length: 5 }, (_, index) => `part${index}.js`);
      const main = (files: readonly string[]) => files.map((file) => `require("./${file}");`).join("");
      const heavy = parts.map((file) => [file, `/*${" ".repeat(13 * MIB)}*/`]);
      await install("heavy", { "index.js": main(parts), ...Object.fromEntries(heavy) });
      expect(await problemOf("heavy")).toMatch(/the limit is 20000 files with 64 MiB together/);
      await install("fat", { "index.js": `exports.text = "${"x".repeat(8 * MIB)}"` });
      expect(await problemOf("fat")).toMatch(/becomes \d{7} bytes of JavaScript; the limit is 8388608/);
    });

    test("a process that takes longer than it may is ended", async () => {
      await install("slow", { "index.js": "exports.a = 1" });
      // No process of Node has even started by then.
      expect(await bundlePackage(modules, "slow", { maxMs: 1 })).toEqual({
        problem: "Bundling it takes more than 1 ms or too much memory.",
      });
      await bundle("slow");
    });

    test("a pipe in place of a file is not waited for", async () => {
      await install("piped", { "index.js": "require('./part.js')" });
      await install("described", { "index.js": "" });
      await rm(path.join(modules, "described/package.json"));
      for (const file of ["piped/part.js", "described/package.json"]) {
        await promisify(execFile)("mkfifo", [path.join(modules, file)]);
      }
      expect(await problemOf("piped")).toMatch(/part\.js is not a file/);
      expect(await problemOf("described")).toMatch(/package\.json cannot be read: it is not a file/);
    });
  });

  test("code that is not executed: not on the host, whatever it is", async () => {
    const touched = path.join(folder, "touched");
    await install(
      "runs",
      {
        "index.js": `require("fs").writeFileSync(${JSON.stringify(touched)}, "x"); process.exit(3)`,
        "esbuild.config.js": "process.exit(4)",
      },
      { scripts: { install: `touch ${touched}`, prepare: `touch ${touched}` } },
    );
    await bundle("runs");
    const { existsSync } = await import("node:fs");
    expect(existsSync(touched)).toBe(false);
  });
});
