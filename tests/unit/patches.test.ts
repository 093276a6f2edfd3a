/** The patches that `npm ci` applies: each hunk cites what was reported upstream, and what is installed is patched. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { applyPatch, parsePatch, reversePatch } from "diff";
import { describe, expect, test } from "vitest";
import packageFile from "../../package.json" with { type: "json" };

const ROOT = path.resolve(import.meta.dirname, "../..");
const names = readdirSync(path.join(ROOT, "patches")).filter((name) => name.endsWith(".patch"));
const dependencies: Record<string, string> = packageFile.dependencies;

test("there are patches", () => expect(names).not.toEqual([]));

describe.each(names)("%s", (name) => {
  const text = readFileSync(path.join(ROOT, "patches", name), "utf8");

  test("is for the version that is installed", () => {
    const [, patched = "", version] = /^(.+)\+(.+)\.patch$/.exec(name) ?? [];
    expect(dependencies[patched]).toBe(version);
  });

  test("cites a report for each hunk, or says that there is none", () => {
    const heads = text.split("\n").filter((line) => line.startsWith("@@"));
    expect(heads.length).toBeGreaterThan(0);
    for (const head of heads) expect(head).toMatch(/@@ ([\w-]+\/[\w-]+ #\d+|no report: \w+|not needed: \w+)/);
  });

  test("is applied", () => {
    for (const patch of parsePatch(text)) {
      const file = path.join(ROOT, (patch.newFileName ?? "").replace(/^b\//, ""));
      expect(applyPatch(readFileSync(file, "utf8"), reversePatch(patch)), file).not.toBe(false);
    }
  });
});
