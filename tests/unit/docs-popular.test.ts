/** The table of popular packages in docs/packages.md: of the packages that are measured, and enough of them work. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { SMOKES } from "../../bench/tools/popular-list.ts";

const PAGE = readFileSync(path.resolve(import.meta.dirname, "../../docs/packages.md"), "utf8");
const MIN_PASSED = 85;

test("100 packages, at least 85 of which can be used, and a reason for each other", () => {
  const table =
    /<!-- popular packages:[^>]*-->([\s\S]*)<!-- end of popular packages -->/.exec(PAGE)?.[1] ?? "";
  const [, total, stated, list = ""] =
    /^Of (\d+) popular .* (\d+) can be installed, imported and used:\n(.*)\.$/m.exec(table) ?? [];
  const passed = list.split(", ").map((entry) => /^(\S+) \d+\.\d+\.\d+\S*$/.exec(entry)?.[1] ?? entry);
  const failed = [...table.matchAll(/^\| (\S+) (\S*) \| (.*) \|$/gm)]
    .map(([, name = "", , reason = ""]) => ({ name, reason }))
    .filter(({ name, reason }) => name !== "not" && !name.startsWith("---") && reason !== "why");
  expect([...passed, ...failed.map(({ name }) => name)].sort()).toEqual(Object.keys(SMOKES).sort());
  expect(Number(total)).toBe(100);
  expect(Number(stated)).toBe(passed.length);
  expect(passed.length).toBeGreaterThanOrEqual(MIN_PASSED);
  for (const { name, reason } of failed) expect(reason, name).toMatch(/\S+ \S+/);
});

test("each is used, not only looked at", () => {
  for (const [name, use] of Object.entries(SMOKES)) expect(use, name).not.toMatch(/\btypeof /);
});
