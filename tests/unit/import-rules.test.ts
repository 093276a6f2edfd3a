/**
 * The import rules really bind: the cruiser sees every source file, follows the `#` aliases, and reports one planted
 * violation of every rule it has.
 */
import { spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const PROJECT = path.resolve(import.meta.dirname, "../..");
const FOLDERS = [
  "api",
  "build",
  "runner",
  "kernel",
  "modules",
  "sdk",
  "client",
  "command",
  "web",
  "tests",
  "bench",
];

interface CruiseReport {
  modules: {
    source: string;
    dependencies: { module: string; resolved: string; couldNotResolve: boolean }[];
  }[];
  summary: { violations: { rule: { name: string }; from: string; to: string }[]; totalCruised: number };
}

function cruise(directory: string, folders: string[]): CruiseReport {
  const program = path.join(PROJECT, "tests/node_modules/.bin/depcruise");
  const args = [program, "--config", ".dependency-cruiser.cjs", "--output-type", "json", ...folders];
  const run = spawnSync(process.execPath, args, { cwd: directory, encoding: "utf8", maxBuffer: 64 << 20 });
  if (!run.stdout.startsWith("{")) throw new Error(`dependency-cruiser printed no report: ${run.stderr}`);
  return JSON.parse(run.stdout) as CruiseReport;
}

function listSources(): string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(path.join(PROJECT, folder), { recursive: true, encoding: "utf8" })
      .map((file) => path.posix.join(folder, file))
      // Scripts as models write them are no modules.
      .filter((file) => /^(?!.*\/(dist|node_modules)\/|bench\/truth\/cases\/).*\.tsx?$/.test(file))
      .filter((file) => !file.endsWith(".d.ts")),
  );
}

describe("on the project", () => {
  let report: CruiseReport;
  beforeAll(() => {
    report = cruise(PROJECT, FOLDERS);
  });

  test("sees every source file", () => {
    const seen = new Set(report.modules.map((module) => module.source));
    const sources = listSources();
    expect(sources.length).toBeGreaterThan(50);
    expect(sources.filter((file) => !seen.has(file))).toEqual([]);
  });

  test("follows imports through the # aliases to files of the project", () => {
    const aliased = report.modules
      .flatMap((module) => module.dependencies)
      .filter((to) => to.module.startsWith("#"));
    expect(aliased.length).toBeGreaterThan(20);
    for (const dependency of aliased)
      expect(dependency.resolved).toMatch(/^(api|runner|kernel|modules|sdk|client|tests)\/.*\.ts$/);
  });

  test("NOTICE names every package that is bundled into the child", () => {
    const bundled = report.modules
      .filter((module) => module.source.startsWith("runner/child/"))
      .flatMap((module) =>
        module.dependencies.map((to) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(to.resolved)?.[1]),
      )
      .filter((name) => name !== undefined && name !== "zod" && !name.startsWith("@types"));
    const notice = readFileSync(path.join(PROJECT, "NOTICE"), "utf8");
    expect(bundled.length).toBeGreaterThan(0);
    for (const name of bundled) expect(notice).toContain(`- ${name} (`);
  });

  test("finds no violation", () => {
    const lines = report.summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`);
    expect(lines).toEqual([]);
  });
});

/** One file per rule that breaks it, and the files they need. */
const PLANTED: { rule: string; file: string; imports: string; typeOnly?: true }[] = [
  { rule: "sdk-imports-zod-only", file: "sdk/index.ts", imports: "#api/errors.ts" },
  {
    rule: "child-imports-its-own-half-only",
    file: "runner/child/main.ts",
    imports: "#runner/pool/spawn.ts",
  },
  {
    rule: "child-never-reaches-the-server",
    file: "runner/child/bridge.ts",
    imports: "#runner/wire/frames.ts",
  },
  { rule: "runner-imports-kernel-and-sdk", file: "runner/pool/pool.ts", imports: "#api/errors.ts" },
  { rule: "kernel-imports-sdk-only", file: "kernel/input.ts", imports: "#runner/pool/pool.ts" },
  {
    rule: "modules-import-sdk-and-their-own-folder",
    file: "modules/openapi/index.ts",
    imports: "#modules/mcp/index.ts",
  },
  { rule: "only-environments-import-runner", file: "modules/mcp/index.ts", imports: "#runner/pool/pool.ts" },
  {
    rule: "store-imports-db-and-its-model",
    file: "api/processes/store/changes.ts",
    imports: "../service.ts",
  },
  { rule: "api-imports-downwards", file: "api/bounds/page.ts", imports: "#api/errors.ts" },
  { rule: "web-imports-downwards", file: "web/server/api.ts", imports: "../parts/panel.ts" },
  {
    rule: "api-processes-imports-downwards",
    file: "api/processes/live/run.ts",
    imports: "../store/changes.ts",
  },
  { rule: "runner-imports-downwards", file: "runner/jail/jail.ts", imports: "#runner/pool/spawn.ts" },
  {
    rule: "runner-child-realm-imports-downwards",
    file: "runner/child/realm/json/walk.ts",
    imports: "../install.ts",
  },
  { rule: "service-imports-its-own-feature", file: "api/processes/service.ts", imports: "#api/db/pool.ts" },
  {
    rule: "service-never-names-http-or-driver",
    file: "api/tools/service.ts",
    imports: "fastify",
    typeOnly: true,
  },
  { rule: "routes-import-their-service", file: "api/processes/routes.ts", imports: "./store/changes.ts" },
  {
    rule: "features-do-not-import-each-other",
    file: "api/components/modules/loader.ts",
    imports: "#api/processes/model.ts",
  },
  {
    rule: "features-do-not-import-each-other",
    file: "api/components/settings/patch.ts",
    imports: "#api/processes/model.ts",
  },
  {
    rule: "components-meet-in-their-layer",
    file: "api/components/services/installation.ts",
    imports: "../modules/store.ts",
  },
  { rule: "driver-stays-with-storage", file: "api/processes/dispatcher.ts", imports: "postgres" },
  { rule: "the-image-has-no-clients", file: "api/mcp/outcome.ts", imports: "#client/retry.ts" },
  { rule: "clients-know-the-document-only", file: "client/index.ts", imports: "#sdk" },
  {
    rule: "imports-are-found-as-a-run-finds-them",
    file: "command/run/imports.ts",
    imports: "#runner/pool/spawn.ts",
  },
  {
    rule: "local-runtime-imports-the-process-environment",
    file: "client/local/index.ts",
    imports: "#api/errors.ts",
  },
  {
    rule: "local-runtime-imports-the-process-environment",
    file: "client/local/other.ts",
    imports: "#modules/mcp/index.ts",
  },
  { rule: "client-runs-anywhere", file: "client/retry.ts", imports: "node:fs" },
  { rule: "local-runtime-is-chosen-by-condition", file: "client/events.ts", imports: "./local/index.ts" },
  { rule: "nothing-imports-tests-or-bench", file: "api/app.ts", imports: "#tests/fixture.ts" },
  { rule: "no-cycles", file: "api/http/one.ts", imports: "./two.ts" },
  { rule: "no-unresolvable", file: "api/http/lost.ts", imports: "./nowhere.ts" },
  { rule: "production-needs-no-development-packages", file: "api/http/checks.ts", imports: "marked" },
];

/** What the planted imports lead to; frames.ts opens the indirect way from the child to the server. */
const SURROUNDINGS: Record<string, string> = {
  "api/errors.ts": "export const it = 1;",
  "api/db/pool.ts": "export const it = 1;",
  "api/components/modules/store.ts": "export const it = 1;",
  "api/processes/model.ts": "export const it = 1;",
  "api/http/two.ts": 'export { it as back } from "./one.ts"; export const it = 1;',
  "runner/wire/frames.ts": 'export { it } from "#api/errors.ts";',
  "runner/child/realm/install.ts": "export const it = 1;",
  "runner/pool/spawn.ts": "export const it = 1;",
  "web/parts/panel.ts": "export const it = 1;",
  "tests/fixture.ts": "export const it = 1;",
};

describe("on a project with one planted violation per rule", () => {
  let directory: string;
  let caught: string[];

  beforeAll(() => {
    directory = mkdtempSync(path.join(realpathSync(tmpdir()), "cyrnel-imports-"));
    const write = (file: string, text: string) => {
      mkdirSync(path.dirname(path.join(directory, file)), { recursive: true });
      writeFileSync(path.join(directory, file), text);
    };
    for (const name of [".dependency-cruiser.cjs", "package.json"])
      cpSync(path.join(PROJECT, name), path.join(directory, name));
    mkdirSync(path.join(directory, "tests"));
    for (const place of ["node_modules", "tests/node_modules"])
      symlinkSync(path.join(PROJECT, place), path.join(directory, place));
    for (const [file, text] of Object.entries(SURROUNDINGS)) write(file, text);
    for (const { file, imports, typeOnly } of PLANTED) {
      const statement = typeOnly
        ? `import type * as other from "${imports}";`
        : `export * as other from "${imports}";`;
      write(file, `${statement}\nexport const it: unknown = 1;\n`);
    }
    const folders = readdirSync(directory).filter((name) => !name.includes(".") && name !== "node_modules");
    caught = cruise(directory, folders).summary.violations.map(({ rule, from }) => `${rule.name}: ${from}`);
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  test.each(PLANTED)("$rule catches $file", ({ rule, file }) => {
    expect(caught).toContain(`${rule}: ${file}`);
  });

  test("there is no rule without one", () => {
    const config = createRequire(import.meta.url)("../../.dependency-cruiser.cjs") as {
      forbidden: { name: string }[];
    };
    expect(new Set(PLANTED.map(({ rule }) => rule))).toEqual(
      new Set(config.forbidden.map(({ name }) => name)),
    );
  });
});
