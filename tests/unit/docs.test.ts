/** Links of the documentation lead somewhere. `npm run check -- english` looks at the files it names. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";

const PROJECT = path.resolve(import.meta.dirname, "../..");

const pages = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "examples/README.md",
  "examples/client/README.md",
  "examples/command/README.md",
  ...readdirSync(path.join(PROJECT, "modules")).map((name) => `modules/${name}/README.md`),
  ...readdirSync(path.join(PROJECT, "docs"))
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/${file}`),
];

function headings(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}

describe.each(pages)("%s", (page) => {
  const text = readFileSync(path.join(PROJECT, page), "utf8");
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, "");

  test("its links lead somewhere", () => {
    const broken = [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target = ""]) => target)
      .filter((target) => !/^https?:/.test(target))
      .filter((target) => {
        const [file = "", anchor] = target.split("#");
        const found = file === "" ? path.join(PROJECT, page) : path.join(PROJECT, path.dirname(page), file);
        if (!existsSync(found)) return true;
        return anchor !== undefined && !headings(readFileSync(found, "utf8")).includes(anchor);
      });
    expect(broken).toEqual([]);
  });
});

test("the probe that CONTRIBUTING.md shows is one of the corpus", () => {
  const recipe = readFileSync(path.join(PROJECT, "CONTRIBUTING.md"), "utf8").split(
    "## How to add a probe",
  )[1];
  const probe = /```ts\n([\s\S]*?)```/.exec(recipe ?? "")?.[1] ?? "";
  expect(probe).toContain("lootProbe({");
  const corpus = path.join(PROJECT, "tests/security/corpus");
  const files = readdirSync(corpus).filter((file) => file.endsWith(".ts"));
  expect(files.some((file) => readFileSync(path.join(corpus, file), "utf8").includes(probe))).toBe(true);
});
