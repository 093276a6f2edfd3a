/** What a registry, a publisher or a network may do to an installation. Nothing of it is executed, written elsewhere or stored. */
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  answerJson,
  compress,
  type FrontedRegistry,
  makeTarball,
  type Registry,
  startFront,
  startRegistry,
  type TarEntry,
} from "./registry.ts";
import { type PackagesServer, startPackagesServer } from "./server.ts";

let registry: Registry;
let fronted: FrontedRegistry;
let on: PackagesServer;
/** A server that no installation has any business with. */
let elsewhere: Server;
let elsewhereUrl: string;
let elsewhereAsked: string[];

beforeAll(async () => {
  registry = await startRegistry();
  fronted = await startFront(registry);
  elsewhere = createServer((request, response) => {
    elsewhereAsked.push(request.url ?? "");
    response.end("secret");
  });
  await new Promise<void>((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
  elsewhereUrl = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
  on = await startPackagesServer(fronted.url);
});
afterAll(async () => {
  await on?.[Symbol.asyncDispose]();
  await fronted?.[Symbol.asyncDispose]();
  await registry?.[Symbol.asyncDispose]();
  elsewhere?.closeAllConnections();
  elsewhere?.close();
});
beforeEach(() => {
  fronted.front = () => false;
  elsewhereAsked = [];
});

async function expectRefused(name: string, problem: RegExp, more: object = {}): Promise<void> {
  const installation = await on.install(name, more);
  expect(installation).toMatchObject({ state: "failed", error: expect.stringMatching(problem) });
  expect((await on.get(`/packages?name=${encodeURIComponent(name)}`)).body.packages).toEqual([]);
  const folder = path.join(on.server.config.dataDirectory, "packages");
  expect(await readdir(folder).catch(() => [])).toEqual([]);
}

const manifestOf = (name: string, more: object = {}) => ({
  name: "package/package.json",
  body: JSON.stringify({ name, version: "1.0.0", main: "index.js", ...more }),
});

describe("tarballs", () => {
  const marker = path.join(tmpdir(), `cyrnel-escaped-${process.pid}`);
  const up = "../".repeat(20).slice(0, -1);
  const cases: [name: string, problem: RegExp, entries: TarEntry[]][] = [
    ["dot-dot", /leads upwards/, [{ name: `package/${up}${marker}`, body: "x" }]],
    ["dot-dot-first", /leads upwards/, [{ name: `${up}${marker}`, body: "x" }]],
    ["absolute", /is absolute/, [{ name: marker, body: "x" }]],
    ["drive", /is absolute/, [{ name: "C:/escaped", body: "x" }]],
    ["backslash", /backslash/, [{ name: "package\\..\\..\\escaped", body: "x" }]],
    ["nul-name", /control characters/, [{ name: "package/a\u0001b", body: "x" }]],
    [
      "symlink",
      /symlink/,
      [
        { name: "package/link", type: "symlink", linkname: "/etc" },
        { name: "package/link/passwd", body: "x" },
      ],
    ],
    ["symlinked-file", /symlink/, [{ name: "package/index.js", type: "symlink", linkname: "/etc/passwd" }]],
    ["hard-link", /a link/, [{ name: "package/index.js", type: "link", linkname: "/etc/passwd" }]],
    [
      "device",
      /character-device/,
      [{ name: "package/null", type: "character-device", devmajor: 1, devminor: 3 }],
    ],
    ["fifo", /fifo/, [{ name: "package/pipe", type: "fifo" }]],
    [
      "case-trick",
      /the same file/,
      [
        { name: "package/a/x.js", body: "1" },
        { name: "package/A", body: "2" },
      ],
    ],
    [
      "accent-trick",
      /the same file/,
      [
        { name: "package/\u00e9.js", body: "1" },
        { name: "package/e\u0301.js", body: "2" },
      ],
    ],
    [
      "twice",
      /twice/,
      [
        { name: "package/a.js", body: "1" },
        { name: "package/a.js", body: "2" },
      ],
    ],
    ["deep", /levels deep/, [{ name: `package/${"d/".repeat(40)}a.js`, body: "1" }]],
  ];

  test.each(cases)("%s", async (name, problem, entries) => {
    await registry.publish({ name, tarball: await makeTarball([manifestOf(name), ...entries]) });
    await expectRefused(name, problem);
    expect(existsSync(marker)).toBe(false);
  });

  test("packages within a package are not taken from it", async () => {
    const tarball = await makeTarball([
      manifestOf("with-modules"),
      { name: "package/index.js", body: 'exports.inner = require("inner");' },
      { name: "package/node_modules/inner/package.json", body: '{"name":"inner","version":"1.0.0"}' },
      { name: "package/node_modules/inner/index.js", body: "module.exports = 1;" },
    ]);
    await registry.publish({ name: "with-modules", tarball });
    expect(await on.install("with-modules")).toMatchObject({ state: "failed" });
  });

  test("500 MB of nothing in half a megabyte is cut off; neither disk nor memory is filled", async () => {
    const large = await compress(Buffer.alloc(500 * 1024 * 1024));
    await registry.publish({ name: "bomb", tarball: large });
    const file = await makeTarball([
      manifestOf("bomb-file"),
      { name: "package/zeros", body: Buffer.alloc(300 * 1024 * 1024) },
    ]);
    await registry.publish({ name: "bomb-file", tarball: file });
    const before = process.memoryUsage.rss();
    await expectRefused("bomb", /more than \d+ bytes/);
    await expectRefused("bomb-file", /more than \d+ bytes/);
    expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 1024 * 1024);
  });

  test("a tarball that goes on and on is cut off as it comes", async () => {
    await registry.publish({ name: "endless" });
    fronted.front = ({ url }, response) => {
      if (!url?.endsWith(".tgz")) return false;
      response.writeHead(200);
      const chunk = Buffer.alloc(1024 * 1024, 7);
      const more = () => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on("drain", more);
      more();
      return true;
    };
    await expectRefused("endless", /larger than 67108864 bytes/);
  });

  test("one of another name or version than the registry says is refused", async () => {
    await registry.publish({ name: "honest", tarball: await makeTarball([manifestOf("other")]) });
    await expectRefused("honest", /contains other@1\.0\.0/);
  });

  test("no tarball, and one that is none", async () => {
    await registry.publish({ name: "garbage", tarball: Buffer.from("not a tarball at all") });
    await expectRefused("garbage", /not compressed/);
  });
});

describe("integrity", () => {
  test("a tarball that is not what the registry has announced is refused", async () => {
    await registry.publish({ name: "lying" });
    const other = await makeTarball([manifestOf("lying"), { name: "package/index.js", body: "evil" }]);
    fronted.front = ({ url }, response) => {
      if (!url?.endsWith(".tgz")) return false;
      response.end(other);
      return true;
    };
    await expectRefused("lying", /integrity/i);
  });

  test("of a dependency too", async () => {
    await registry.publish({ name: "deep-dependency" });
    await registry.publish({ name: "needs-lying", manifest: { dependencies: { "deep-dependency": "1" } } });
    const other = await makeTarball([
      manifestOf("deep-dependency"),
      { name: "package/index.js", body: "evil" },
    ]);
    fronted.front = ({ url }, response) => {
      if (!url?.includes("deep-dependency-1")) return false;
      response.end(other);
      return true;
    };
    await expectRefused("needs-lying", /integrity/i);
  });

  test("a package without a strong one is refused", async () => {
    await registry.publish({ name: "weak" });
    fronted.front = async ({ url }, response) => {
      if (url !== "/weak") return false;
      const packument = await (await fetch(`${registry.url}/weak`)).json();
      delete packument.versions["1.0.0"].dist.integrity;
      return answerJson(response, packument);
    };
    await expectRefused("weak", /no integrity by SHA-256/);
  });
});

describe("scripts and native code", () => {
  test("no script of any package is run", async () => {
    const marker = path.join(tmpdir(), `cyrnel-ran-${process.pid}`);
    const touch = `node -e "require('fs').writeFileSync('${marker}','')" || touch ${marker}`;
    const scripts = Object.fromEntries(
      ["preinstall", "install", "postinstall", "prepare", "prepack", "preprepare", "dependencies"].map(
        (name) => [name, touch],
      ),
    );
    await registry.publish({ name: "scripted-dependency", manifest: { scripts } });
    await registry.publish({
      name: "scripted",
      manifest: { scripts, dependencies: { "scripted-dependency": "*" } },
    });
    const installation = await on.install("scripted");
    expect(existsSync(marker)).toBe(false);
    expect(installation).toMatchObject({ state: "done", version: "1.0.0" });
    const { tree } = (await on.get("/packages/scripted/1.0.0")).body;
    expect(tree).toMatchObject([{ installScripts: true }, { installScripts: true }]);
  });

  test.each([
    ["gyp", { "binding.gyp": "{}", "index.js": "" }, {}],
    ["prebuilt", { "build/x.node": "\u007fELF", "index.js": "" }, {}],
    ["gypfile", { "index.js": "" }, { gypfile: true }],
  ])("a native addon is refused: %s", async (name, files, manifest) => {
    await registry.publish({ name, files, manifest });
    await expectRefused(name, /native addon/);
  });

  test("an optional native addon is left out, and its package installed without", async () => {
    await registry.publish({ name: "native-option", files: { "binding.gyp": "{}", "index.js": "" } });
    await registry.publish({ name: "platform-option", manifest: { os: ["darwin"] } });
    await registry.publish({
      name: "with-options",
      files: {
        "index.js":
          'try { require("native-option"); exports.native = true; } catch { exports.native = false; }',
      },
      manifest: {
        optionalDependencies: { "native-option": "*", "platform-option": "*", "not-there-at-all": "*" },
      },
    });
    expect(await on.install("with-options")).toMatchObject({ state: "done", error: null });
    const { tree, leftOut } = (await on.get("/packages/with-options/1.0.0")).body;
    expect(tree.map(({ name }: { name: string }) => name)).toEqual(["with-options"]);
    expect(leftOut.map(({ name }: { name: string }) => name).sort()).toEqual([
      "native-option",
      "not-there-at-all",
      "platform-option",
    ]);
  });
});

describe("what a registry says", () => {
  // biome-ignore lint/suspicious/noExplicitAny: it is made into whatever a test wants
  const lie = (name: string, change: (packument: any) => void) => {
    fronted.front = async ({ url }, response) => {
      if (url !== `/${name}`) return false;
      const packument = await (await fetch(`${registry.url}/${name}`)).json();
      for (const { dist } of Object.values<{ dist: { tarball: string } }>(packument.versions)) {
        dist.tarball = dist.tarball.replace(registry.url, fronted.url);
      }
      change(packument);
      return answerJson(response, packument);
    };
  };
  const tarballAt = (name: string, place: string) =>
    lie(name, ({ versions }) => {
      versions["1.0.0"].dist.tarball = place;
    });

  test.each([
    ["another host", () => `${elsewhereUrl}/x.tgz`, /only tarballs of the registry itself/],
    ["a file", () => "file:///etc/passwd", /does not come from the registry|only tarballs of the registry/],
    [
      "a metadata address",
      () => "http://169.254.169.254/latest/meta-data",
      /only tarballs of the registry itself/,
    ],
    [
      "an address with a password",
      () => fronted.url.replace("//", "//user:password@"),
      /only tarballs of the registry itself/,
    ],
    [
      "git",
      () => "git+ssh://git@example.com/x.git",
      /does not come from the registry|only tarballs of the registry/,
    ],
    ["nothing", () => "", /registry/],
  ])("a tarball at %s", async (what, place, problem) => {
    const name = `at-${what.replaceAll(" ", "-")}`;
    await registry.publish({ name });
    tarballAt(name, place());
    await expectRefused(name, problem);
    expect(elsewhereAsked).toEqual([]);
  });

  test.each([
    ["a metadata address", "http://169.254.169.254/latest/meta-data", /169\.254\.169\.254/],
    ["a private address", "http://10.0.0.1/x.tgz", /10\.0\.0\.1/],
    ["a file", "file:///etc/passwd", /http and https|file:/],
    ["itself, for ever", "", /redirected more than/],
  ])("a redirect to %s", async (what, target, problem) => {
    const name = `to-${what.replace(/\W+/g, "-")}`;
    await registry.publish({ name });
    fronted.front = ({ url }, response) => {
      if (!url?.includes(".tgz")) return false;
      response.writeHead(302, { location: target || `${fronted.url}${url}` }).end();
      return true;
    };
    await expectRefused(name, problem);
  });

  test.each([
    ["git", "git+ssh://git@example.com/x.git"],
    ["an address", "http://169.254.169.254/x.tgz"],
    ["a folder", "file:../../../../../../etc"],
    ["a link", "link:/etc"],
    ["github", "someone/something"],
  ])("a dependency from %s", async (what, spec) => {
    const name = `from-${what.replace(/\W+/g, "-")}`;
    await registry.publish({ name, manifest: { dependencies: { x: spec } } });
    await expectRefused(name, /./);
    expect(elsewhereAsked).toEqual([]);
  });

  test.each([
    "__proto__",
    "..",
    "../../x",
    "node_modules",
    "constructor/../../x",
    ".bin",
    "a/b/c",
    "\u202egnp",
    "con\u0000x",
  ])("a dependency called %j", async (dependency) => {
    const name = `named-${Buffer.from(dependency).toString("hex")}`;
    await registry.publish({ name });
    lie(name, ({ versions }) => {
      versions["1.0.0"].dependencies = JSON.parse(`{${JSON.stringify(dependency)}: "*"}`);
    });
    const installation = await on.install(name);
    // A name that cannot be a key of anything is left out by npm's library; whatever is left is harmless.
    if (installation.state === "done") {
      const { tree } = (await on.get(`/packages/${name}/1.0.0`)).body;
      expect(tree).toHaveLength(1);
    }
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  test("one that never answers is given up", async () => {
    const impatient = await startPackagesServer(fronted.url, {});
    try {
      fronted.front = ({ url }) => url === "/silent";
      const began = performance.now();
      const asked = await impatient.server.post("/packages", { name: "silent" });
      // The server itself does not wait for it.
      expect(performance.now() - began).toBeLessThan(2000);
      expect(asked.body.state).toBe("running");
    } finally {
      const closing = performance.now();
      await impatient[Symbol.asyncDispose]();
      expect(performance.now() - closing).toBeLessThan(10_000);
    }
  });

  test("a description without end", async () => {
    fronted.front = ({ url }, response) => {
      if (url !== "/prolix") return false;
      response.writeHead(200, { "content-type": "application/json" });
      const chunk = `"${"x".repeat(1024 * 1024)}",`;
      response.write('{"versions":[');
      const more = () => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on("drain", more);
      more();
      return true;
    };
    await expectRefused("prolix", /larger than \d+ bytes/);
  });

  test("one that is no JSON, an error, and a package that is not there", async () => {
    fronted.front = ({ url }, response) => {
      if (url === "/no-json") return Boolean(response.end("<html>"));
      if (url === "/broken") return answerJson(response, {}, 500);
      return false;
    };
    await expectRefused("no-json", /npm could not resolve/);
    await expectRefused("broken", /npm could not resolve/);
    await expectRefused("not-published", /does not know/);
  });
});

test.each([
  "__proto__",
  "..",
  ".",
  "node_modules",
  "../x",
  "@/x",
  "@x/",
  "A",
  "a b",
  "\u0430",
  "x@1",
  "file:x",
  "http://x",
  "",
])("the name %j is refused at once", async (name) => {
  expect((await on.server.post("/packages", { name })).status).toBe(400);
});

test.each(["file:/etc", "http://x/y.tgz", "npm:other@1", "github:a/b", "git+ssh://x", "../x", "a/b"])(
  "the range %j is refused at once",
  async (range) => {
    expect((await on.server.post("/packages", { name: "x", range })).status).toBe(400);
  },
);
