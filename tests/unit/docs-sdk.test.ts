/** docs/sdk.md is what sdk/ exports. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { formatSdkPage } from "#tests/checks/sdk-page.ts";

const PROJECT = path.resolve(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(path.join(PROJECT, file), "utf8");

test("the page is printed from the sources, and has every name that they export", async () => {
  const page = read("docs/sdk.md");
  expect(page).toBe(await formatSdkPage());
  const exported = ["adapter", "environment", "module"].flatMap(
    (file) =>
      read(`sdk/${file}.ts`).match(/(?<=^export (?:const|type|interface|function|class) )\w+/gm) ?? [],
  );
  expect(exported.length).toBeGreaterThan(30);
  const headings = page.match(/^### .*$/gm)?.join("\n") ?? "";
  expect(exported.filter((name) => !headings.includes(`\`${name}\``))).toEqual([]);
});
