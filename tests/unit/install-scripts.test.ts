/** What `npm ci` may start on the machine of a person who only wants to look. */
import { expect, test } from "vitest";
import packageFile from "../../package.json" with { type: "json" };
import lock from "../../package-lock.json" with { type: "json" };

interface Locked {
  hasInstallScript?: boolean;
}

const installed = Object.entries(lock.packages as Record<string, Locked>);
const nameOf = (place: string) => place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);

test("every package with an install script is listed in allowScripts, and nothing else is", () => {
  const withScript = installed.filter(([place, { hasInstallScript }]) => place !== "" && hasInstallScript);
  expect(withScript.length).toBeGreaterThan(0);
  expect(new Set(withScript.map(([place]) => nameOf(place)))).toEqual(
    new Set(Object.keys(packageFile.allowScripts)),
  );
});

test("no package that reports the installation to others is installed", () => {
  expect(installed.map(([place]) => nameOf(place)).filter((name) => name.startsWith("@scarf/"))).toEqual([]);
});
