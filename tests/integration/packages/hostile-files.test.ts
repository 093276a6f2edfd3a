/** A package that wants a file of the server: whatever its tarball, its description or a lock file says, none is read. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { permissionFlags } from "#api/packages/install/permissions.ts";
import { findNodeBinary } from "#runner/process/node-binary.ts";
import { type FrontedRegistry, makeTarball, type Registry, startFront, startRegistry } from "./registry.ts";
import { type PackagesServer, startPackagesServer } from "./server.ts";

const SECRET = "canary-of-a-file-outside";

let registry: Registry;
let fronted: FrontedRegistry;
let on: PackagesServer;
/** A package in a folder that no installation has any business with. */
let outside: string;

beforeAll(async () => {
  outside = await realpath(await mkdtemp(path.join(tmpdir(), "cyrnel-outside-")));
  await writeFile(
    path.join(outside, "package.json"),
    JSON.stringify({ name: SECRET, version: "1.0.0", description: SECRET, main: "index.js" }),
  );
  await writeFile(path.join(outside, "index.js"), `module.exports = "${SECRET}";`);
  await writeFile(path.join(outside, ".npmrc"), `//x/:_authToken=${SECRET}`);
  registry = await startRegistry();
  fronted = await startFront(registry);
  on = await startPackagesServer(fronted.url);
});
afterAll(async () => {
  await on?.[Symbol.asyncDispose]();
  await fronted?.[Symbol.asyncDispose]();
  await registry?.[Symbol.asyncDispose]();
  await rm(outside, { recursive: true, force: true });
});

/** Nothing of the folder outside is in what the server says, stores or gives to scripts. */
async function expectNothingRead(name: string, more: object = {}): Promise<void> {
  const installation = await on.install(name, more);
  expect(JSON.stringify(installation)).not.toContain(SECRET);
  const record = await on.get(`/packages/${name}/1.0.0`);
  if (installation.state === "done") {
    expect(record.status).toBe(200);
    const run = await on.run(`import * as p from "${name}"; return JSON.stringify(p)`);
    expect(JSON.stringify(run)).not.toContain(SECRET);
  } else expect(record.status).toBe(404);
  expect(record.text).not.toContain(SECRET);
  expect(await readdir(path.join(on.server.config.dataDirectory, "packages"))).toEqual([]);
}

const up = "../".repeat(20);
const specs: [what: string, spec: () => string][] = [
  ["file", () => `file:${outside}`],
  ["file-upwards", () => `file:${up}${outside.slice(1)}`],
  ["file-url", () => `file://${outside}`],
  ["link", () => `link:${outside}`],
  ["folder", () => outside],
  ["folder-upwards", () => `${up}${outside.slice(1)}`],
  ["folder-of-home", () => "~/"],
  ["workspace", () => `workspace:${outside}`],
  ["git-file", () => `git+file://${outside}`],
  ["alias", () => `npm:${outside}`],
];

test.each(specs)("a dependency by %s", async (what, spec) => {
  const dependencies = { inner: spec() };
  await registry.publish({
    name: `wants-${what}`,
    files: { "index.js": 'try { exports.inner = require("inner"); } catch {}' },
    manifest: { dependencies },
  });
  await expectNothingRead(`wants-${what}`);
  // Said by the tarball alone: the registry's description has no dependencies.
  await registry.publish({
    name: `hides-${what}`,
    tarball: await makeTarball([
      {
        name: "package/package.json",
        body: JSON.stringify({ name: `hides-${what}`, version: "1.0.0", main: "index.js", dependencies }),
      },
      { name: "package/index.js", body: 'try { exports.inner = require("inner"); } catch {}' },
    ]),
  });
  await expectNothingRead(`hides-${what}`);
});

test.each(["optionalDependencies", "peerDependencies", "overrides", "workspaces"])(
  "files in %s",
  async (member) => {
    const said = member === "workspaces" ? [outside, up] : { inner: `file:${outside}` };
    await registry.publish({
      name: `in-${member.toLowerCase()}`,
      files: { "index.js": 'try { exports.inner = require("inner"); } catch {}' },
      manifest: { [member]: said, dependencies: {} },
    });
    await expectNothingRead(`in-${member.toLowerCase()}`);
  },
);

test("settings, a shrinkwrap and bundled dependencies in a tarball are heeded by nothing", async () => {
  const name = "configured";
  const shrinkwrap = {
    name,
    version: "1.0.0",
    lockfileVersion: 3,
    packages: {
      "": { name, version: "1.0.0", dependencies: { inner: "*" } },
      "node_modules/inner": { resolved: outside, link: true },
    },
  };
  const manifest = { dependencies: { inner: "*" }, bundleDependencies: ["inner"], _hasShrinkwrap: true };
  await registry.publish({ name: "inner" });
  await registry.publish({
    name,
    files: {
      "index.js": 'exports.inner = require("inner");',
      ".npmrc": `registry=file://${outside}\nuserconfig=${outside}/.npmrc\ncafile=${outside}/index.js\n`,
      "npm-shrinkwrap.json": JSON.stringify(shrinkwrap),
      "node_modules/inner/package.json": JSON.stringify({ name: "inner", main: `${up}${outside.slice(1)}` }),
    },
    manifest,
  });
  await expectNothingRead(name);
});

test.each([
  ["main", { main: `${up}PLACE/index.js` }],
  ["module", { main: undefined, module: "PLACE/index.js" }],
  ["browser", { browser: { "./index.js": "PLACE/index.js", inner: `${up}PLACE` } }],
  ["exports", { exports: { ".": `./${up}PLACE/index.js` } }],
  ["imports", { imports: { "#inner": `./${up}PLACE/index.js` } }],
  ["types", { types: `${up}PLACE/index.js`, typesVersions: { "*": { "*": [`${up}PLACE/*`] } } }],
  ["sub-path", { exports: { ".": "./index.js", "./*": `./${up}PLACE/*` } }],
])("what leads out of the package: %s", async (what, members) => {
  const manifest = JSON.parse(JSON.stringify(members).replaceAll("PLACE", outside.slice(1)));
  const code = [
    `try { exports.a = require("${outside}"); } catch {}`,
    `try { exports.b = require("${up}${outside.slice(1)}/index.js"); } catch {}`,
    `try { exports.c = require("file://${outside}/index.js"); } catch {}`,
    'try { exports.d = require("#inner"); } catch {}',
    'try { exports.e = require("inner"); } catch {}',
  ];
  await registry.publish({
    name: `leads-${what}`,
    files: {
      "index.js": code.join("\n"),
      "tsconfig.json": JSON.stringify({
        extends: outside,
        compilerOptions: { paths: { "*": [`${outside}/*`] } },
      }),
    },
    manifest,
  });
  await expectNothingRead(`leads-${what}`);
});

test.each([
  ["link", { resolved: "PLACE", link: true }],
  ["file", { version: "1.0.0", resolved: "file:PLACE" }],
  [
    "file with integrity",
    { version: "1.0.0", resolved: "file:PLACE", integrity: `sha512-${"A".repeat(86)}==` },
  ],
  ["no place", { version: "1.0.0" }],
])("a member of a lock file: %s", async (what, member) => {
  const name = `locked-${what.replaceAll(" ", "-")}`;
  await registry.publish({ name });
  const named = JSON.parse(JSON.stringify(member).replaceAll("PLACE", outside));
  const inner = `${up}${outside.slice(1)}`;
  for (const place of [`node_modules/${name}`, outside, inner, `node_modules/${name}/node_modules/inner`]) {
    const lock = {
      lockfileVersion: 3,
      packages: {
        "": { dependencies: { [name]: "1.0.0" } },
        [`node_modules/${name}`]: { version: "1.0.0", dependencies: { inner: "*" } },
        [place]: named,
      },
    };
    await expectNothingRead(name, { lock });
  }
});

test("the process that installs reads its own code and its folder, writes the folder, starts nothing and connects nowhere", async () => {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), "cyrnel-probe-")));
  try {
    await mkdir(path.join(folder, "inside"));
    await writeFile(path.join(folder, "inside/own"), "own");
    await writeFile(path.join(folder, "probe.mjs"), PROBE);
    const root = path.resolve(import.meta.dirname, "../../..");
    const { stdout } = await promisify(execFile)(findNodeBinary().path, [
      ...permissionFlags(folder),
      path.join(folder, "probe.mjs"),
      JSON.stringify({
        folder,
        outside,
        root,
        data: on.server.config.dataDirectory,
        port: new URL(on.server.url).port,
      }),
    ]);
    const denied = "ERR_ACCESS_DENIED";
    expect(JSON.parse(stdout)).toEqual({
      own: "done",
      write: "done",
      code: "done",
      library: "done",
      outside: denied,
      upwards: denied,
      listing: denied,
      passwd: denied,
      environment: denied,
      data: denied,
      server: denied,
      settings: denied,
      writeOutside: denied,
      writeCode: denied,
      link: denied,
      program: denied,
      thread: denied,
      addon: "ERR_DLOPEN_DISABLED",
      connection: denied,
      socket: denied,
      listener: denied,
      datagram: denied,
      name: denied,
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

const PROBE = `
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { Worker } from "node:worker_threads";
const { folder, outside, root, data, port } = JSON.parse(process.argv[2]);
const tries = {
  own: () => fs.readFileSync(folder + "/inside/own"),
  write: () => fs.writeFileSync(folder + "/inside/new", "x"),
  code: () => fs.readFileSync(root + "/api/packages/install/main.ts"),
  library: () => fs.readFileSync(root + "/node_modules/pacote/package.json"),
  outside: () => fs.readFileSync(outside + "/index.js"),
  upwards: () => fs.readFileSync(folder + "/inside/../../" + outside.split("/").at(-1) + "/index.js"),
  listing: () => fs.readdirSync("/"),
  passwd: () => fs.readFileSync("/etc/passwd"),
  environment: () => fs.readFileSync("/proc/self/environ"),
  data: () => fs.readdirSync(data),
  server: () => fs.readFileSync(root + "/api/config.ts"),
  settings: () => fs.readFileSync(root + "/.env"),
  writeOutside: () => fs.writeFileSync(outside + "/new", "x"),
  writeCode: () => fs.writeFileSync(root + "/api/packages/install/new.ts", "x"),
  link: () => fs.symlinkSync(outside, folder + "/link"),
  program: () => execFileSync("/bin/true"),
  thread: () => new Worker("", { eval: true }),
  addon: () => process.dlopen({ exports: {} }, folder + "/x.node"),
  connection: () => once(connect(port, "127.0.0.1"), "connect"),
  socket: () => once(connect(folder + "/inside/x.sock"), "connect"),
  listener: () => once(createServer().listen(0), "listening"),
  datagram: () => once(createSocket("udp4").bind(0), "listening"),
  name: () => lookup("localhost"),
};
const found = {};
for (const [name, attempt] of Object.entries(tries)) {
  try { await attempt(); found[name] = "done"; } catch (error) { found[name] = error.code ?? String(error); }
}
console.log(JSON.stringify(found));
`;
