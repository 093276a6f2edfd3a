/** What `npm ci` may start on the machine of a person who only wants to look, at the root and in tests/packages. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import packageFile from "../../package.json" with { type: "json" };
import lock from "../../package-lock.json" with { type: "json" };
import testPackageFile from "../packages/package.json" with { type: "json" };
import testLock from "../packages/package-lock.json" with { type: "json" };

interface Locked {
  hasInstallScript?: boolean;
}

const PROJECT = path.resolve(import.meta.dirname, "../..");
const nameOf = (place: string) => place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);

describe.each([
  ["the root", lock, packageFile.allowScripts],
  ["tests/packages", testLock, testPackageFile.allowScripts],
])("%s", (_place, { packages }, allowScripts) => {
  const installed = Object.entries(packages as Record<string, Locked>);

  test("every package with an install script is listed in allowScripts, and nothing else is", () => {
    const withScript = installed.filter(([place, { hasInstallScript }]) => place !== "" && hasInstallScript);
    expect(withScript.length).toBeGreaterThan(0);
    expect(new Set(withScript.map(([place]) => nameOf(place)))).toEqual(new Set(Object.keys(allowScripts)));
  });

  test("no package that reports the installation to others is installed", () => {
    expect(installed.map(([place]) => nameOf(place)).filter((name) => name.startsWith("@scarf/"))).toEqual(
      [],
    );
  });
});

test("everything in tests/packages is used, and what tests share with the product has its version", () => {
  const files = ["tests", "bench"].flatMap((folder) =>
    readdirSync(path.join(PROJECT, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => /\.(ts|sh)$/.test(file) && !file.includes("node_modules/"))
      .map((file) => path.join(PROJECT, folder, file)),
  );
  const texts = [...files, path.join(PROJECT, ".dependency-cruiser.cjs")].map((file) =>
    readFileSync(file, "utf8"),
  );
  const uses: Record<string, string> = {
    "@biomejs/biome": '"biome"',
    "dependency-cruiser": '"depcruise"',
    // What openapi-typescript prints with: TypeScript 7 has no programming interface.
    typescript: '"openapi-typescript"',
  };
  const { dependencies } = testPackageFile;
  const unused = Object.keys(dependencies).filter(
    (name) => !texts.some((text) => text.includes(uses[name] ?? name)),
  );
  expect(unused).toEqual([]);
  const versions: Record<string, string> = { ...packageFile.dependencies, ...packageFile.devDependencies };
  const differing = Object.entries(dependencies).filter(
    ([name, version]) => (versions[name] ?? version) !== version,
  );
  expect(differing).toEqual([]);
});
