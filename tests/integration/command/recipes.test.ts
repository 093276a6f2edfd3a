/** The recipes of deploy/ci and the examples of the command, executed: the shell steps of the YAML as they stand there. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { XMLParser } from "fast-xml-parser";
import { load } from "js-yaml";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cyrnel, type Ended, type Folder, makeFolder, PROJECT } from "./cyrnel.ts";

interface Recipe {
  file: string;
  /** The shell steps, as one program for bash. */
  steps(document: never): string;
  report: string;
  /** Returns the code of each script's error by its name. */
  read(report: string): Record<string, string | null>;
}

const RECIPES: Recipe[] = [
  {
    file: "github.yml",
    // Each step is a shell of its own, and ends the job when it fails.
    steps: ({ jobs }: { jobs: { run: { steps: { run?: string }[] } } }) =>
      jobs.run.steps
        .flatMap(({ run }) => (run === undefined ? [] : [`(set -eo pipefail\n${run}\n) || exit $?`]))
        .join("\n"),
    report: "report.json",
    read: (report) =>
      Object.fromEntries(
        JSON.parse(report).scripts.map(
          ({ script, problems }: { script: string; problems: { code: string }[] }) => [
            script,
            problems[0]?.code ?? null,
          ],
        ),
      ),
  },
  {
    file: "gitlab.yml",
    // One shell for all lines.
    steps: (document: { "untrusted-scripts": { script: string[] } }) =>
      `set -eo pipefail\n${document["untrusted-scripts"].script.join("\n")}`,
    report: "junit.xml",
    read(report) {
      const { testsuites } = new XMLParser({ ignoreAttributes: false, attributeNamePrefix: "" }).parse(
        report,
      );
      const cases: { name: string; failure?: { type: string } }[] = testsuites.testsuite.testcase;
      return Object.fromEntries(cases.map(({ name, failure }) => [name, failure?.type ?? null]));
    },
  },
];

let folder: Folder;
beforeAll(async () => {
  folder = await makeFolder();
});
afterAll(() => folder[Symbol.asyncDispose]());

async function execute(recipe: Recipe, scripts: Record<string, string>): Promise<Ended & { folder: string }> {
  const text = await readFile(path.join(PROJECT, "deploy/ci", recipe.file), "utf8");
  const work = path.join(folder.path, `${recipe.file}-${Object.keys(scripts).join("-")}`);
  await mkdir(path.join(work, "scripts"), { recursive: true });
  for (const [name, code] of Object.entries(scripts)) await writeFile(path.join(work, "scripts", name), code);
  const ended = await cyrnel(["-c", recipe.steps(load(text) as never)], {
    program: ["bash", "--norc"],
    cwd: work,
    environment: { CYRNEL: PROJECT, SCRIPTS: "scripts", CYRNEL_DATA_DIR: path.join(work, "data") },
  });
  return { ...ended, folder: work };
}

describe.each(RECIPES)("deploy/ci/$file", (recipe) => {
  test("runs every script, keeps the results, and fails when one does", async () => {
    const ended = await execute(recipe, {
      "bad.ts": "throw new Error('no')",
      "good.ts": "const two: number = 2; return two",
    });
    expect(ended.stdout).toContain("Isolation level strict is available.");
    expect(ended.stdout).toMatch(
      /^FAIL scripts\/bad\.ts .*\n.*Error: no \(scripts\/bad\.ts:1:7\) \[script_error\]$/m,
    );
    expect(ended.stdout).toMatch(/^PASS scripts\/good\.ts \(\d+ ms\) 2$/m);
    expect(ended.stderr).toBe("");
    expect(ended.code).toBe(1);
    expect(recipe.read(await readFile(path.join(ended.folder, "results", recipe.report), "utf8"))).toEqual({
      "scripts/bad.ts": "script_error",
      "scripts/good.ts": null,
    });
  });
});

test("deploy/ci/gitlab.yml passes when every script succeeds", async () => {
  expect((await execute(RECIPES[1] as Recipe, { "one.ts": "return 1" })).code).toBe(0);
});

test("the examples of the command do what their page says", async () => {
  const page = await readFile(path.join(PROJECT, "examples/command/README.md"), "utf8");
  const lines = /```bash\n([\s\S]*?)```/.exec(page)?.[1]?.trim().split("\n") ?? [];
  const outcomes = await Promise.all(
    lines.map((line) =>
      cyrnel(["-c", line.replace("npx cyrnel", "command/cyrnel")], {
        program: ["bash", "--norc"],
      }),
    ),
  );
  expect(outcomes.map(({ code }) => code)).toEqual([0, 0, 1, 3]);
  expect(outcomes[0]?.stdout).toBe('tea: 3\nrope: 9\ntea: 3\n{"articles":3,"total":15}\n');
  expect(outcomes[1]?.json()).toMatchObject({ exitState: "success" });
});
