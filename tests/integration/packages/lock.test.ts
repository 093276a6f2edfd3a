/** Installations by a lock file, from a real registry: exactly its tree, or nothing and why. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { cyrnel, makeFolder } from "../command/cyrnel.ts";
import { type FrontedRegistry, type Registry, startFront, startRegistry } from "./registry.ts";
import { type PackagesServer, startPackagesServer } from "./server.ts";

const KEY = "packages-bootstrap-key-0123456789";

let registry: Registry;
let fronted: FrontedRegistry;
let on: PackagesServer;
beforeAll(async () => {
  registry = await startRegistry();
  fronted = await startFront(registry);
  const adder = {
    name: "adder",
    files: { "index.js": 'const { one } = require("@corp/one"); exports.add = (n) => n + one;' },
    manifest: { dependencies: { "@corp/one": "^1.0.0" } },
  };
  await registry.publish(adder);
  await registry.publish({ ...adder, version: "1.0.1" });
  await registry.publish({ name: "@corp/one", files: { "index.js": "exports.one = 1;" } });
  await registry.publish({ name: "@corp/one", version: "1.1.0", files: { "index.js": "exports.one = 10;" } });
  on = await startPackagesServer(fronted.url, { CYRNEL_API_KEY: KEY });
});
afterAll(async () => {
  await on?.[Symbol.asyncDispose]();
  await fronted?.[Symbol.asyncDispose]();
  await registry?.[Symbol.asyncDispose]();
});

const tarball = (name: string, version: string) =>
  `${fronted.url}/${name}/-/${name.split("/").at(-1)}-${version}.tgz`;
const locked = async (name: string, version: string, more: object = {}) => ({
  version,
  resolved: tarball(name, version),
  integrity: (await (await fetch(`${registry.url}/${name.replace("/", "%2f")}`)).json()).versions[version]
    .dist.integrity,
  ...more,
});
const lockOf = async (oneVersion = "1.0.0") => ({
  lockfileVersion: 3,
  packages: {
    "": { dependencies: { adder: "1.0.0" } },
    // A workspace of the project, which has nothing to do with the package.
    "packages/own": { version: "0.0.0" },
    "node_modules/own": { resolved: "packages/own", link: true },
    "node_modules/adder": await locked("adder", "1.0.0", { dependencies: { "@corp/one": "^1.0.0" } }),
    "node_modules/@corp/one": await locked("@corp/one", oneVersion),
  } as Record<string, Record<string, unknown>>,
});
type Locked = Record<string, Record<string, unknown>>;
const one = "node_modules/@corp/one";

test.each<[what: string, change: (packages: Locked) => unknown, problem: RegExp, range?: string]>([
  [
    "a member that it lacks",
    (packages) => delete packages[one],
    /needs @corp\/one@1\.1\.0 at node_modules\/@corp\/one, where the lock file has no/,
  ],
  [
    "a version that does not fit",
    (packages) =>
      Object.assign(packages["node_modules/adder"] ?? {}, { dependencies: { "@corp/one": "^1.1.0" } }),
    /has version 1\.0\.0 at node_modules\/@corp\/one, and @corp\/one@1\.1\.0 is needed/,
  ],
  [
    "another version that is asked for",
    () => {},
    /has version 1\.0\.0 at node_modules\/adder, and adder@1\.0\.1 is needed/,
    "1.0.1",
  ],
  [
    "another content than the registry has",
    (packages) =>
      Object.assign(packages[one] ?? {}, { integrity: packages["node_modules/adder"]?.integrity }),
    /differs between the lock file and the registry/,
  ],
  ["no integrity", (packages) => delete packages[one]?.integrity, /integrity/],
  [
    "a link",
    (packages) => Object.assign(packages, { [one]: { resolved: "packages/own", link: true } }),
    /where the lock file has no package/,
  ],
])("nothing is installed where it has %s", async (_what, change, problem, range = "1.0.0") => {
  const lock = await lockOf();
  change(lock.packages);
  expect(await on.install("adder", { range, lock })).toMatchObject({
    state: "failed",
    error: expect.stringMatching(problem),
  });
  expect((await on.get("/packages")).body.packages).toEqual([]);
});

test("exactly its tree is installed, and answered again; another tree of the same version is refused", async () => {
  const lock = await lockOf();
  expect(await on.install("adder", { version: "1.0.0", lock })).toMatchObject({ state: "done", error: null });
  const { tree } = (await on.get("/packages/adder/1.0.0")).body;
  expect(tree.map(({ name, version }: Record<string, string>) => `${name}@${version}`)).toEqual([
    "adder@1.0.0",
    "@corp/one@1.0.0",
  ]);
  expect((await on.run('import { add } from "adder"; return add(1);')).result).toBe(2);

  expect(await on.install("adder", { version: "1.0.0", lock })).toMatchObject({ state: "done" });
  expect(await on.install("adder", { version: "1.0.0", lock: await lockOf("1.1.0") })).toMatchObject({
    state: "failed",
    error: expect.stringMatching(
      /adder@1\.0\.0 is installed with a tree that differs from the lock file: it has @corp\/one@1\.0\.0 at node_modules\/@corp\/one, and the lock file @corp\/one@1\.1\.0\. Remove it \(cyrnel packages rm adder@1\.0\.0\)/,
    ),
  });
});

test("cyrnel packages add --lock, in place of what was removed", async () => {
  await using folder = await makeFolder();
  const environment = { CYRNEL_URL: on.server.url, CYRNEL_API_KEY: KEY };
  const ask = (...args: string[]) => cyrnel(["packages", ...args], { environment });
  await ask("rm", "adder@1.0.0");
  const file = await folder.write("package-lock.json", JSON.stringify(await lockOf("1.1.0")));
  const added = await ask("add", "adder", "--lock", file);
  expect(added.stdout, added.stderr).toContain("adder@1.0.0 is installed");
  expect((await on.run('import { add } from "adder"; return add(1);')).result).toBe(11);
  const other = await folder.write("other.json", JSON.stringify(await lockOf()));
  const refused = await ask("add", "adder", "--lock", other);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("a tree that differs")]);
  const text = await folder.write("text.json", "no lock");
  expect((await ask("add", "adder", "--lock", text)).stderr).toContain("--lock");
  expect((await ask("add", "adder", "--lock", `${folder.path}/absent`)).stderr).toContain("cannot be read");
});
