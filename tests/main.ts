/**
 * `npm test`: builds, then runs the checks and every test but the lanes. `npm test -- <lane>` runs a lane, `npm test -- <anything
 * else>` hands it to vitest, without the checks; `npm run test:changed` runs the tests that a change can reach.
 */
import { execFileSync, type SpawnOptions, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { setPriority } from "node:os";
import { matchesGlob, relative, resolve } from "node:path";
import { findBase, listChangedFiles } from "./checks/changed.ts";
import "./checks/packages.ts";

const ROOT = resolve(import.meta.dirname, "..");
const CONFIG = ["--config", "tests/vitest.config.ts"];

const TIMED = ["database-network", "database-trouble", "lost-claims", "approvals/lost-answers"].map(
  (name) => `tests/integration/${name}.test.ts`,
);

/** Apart from `npm test`: they take minutes, or need what few machines have. CONTRIBUTING.md says which run when. */
const LANES: Record<string, string[][]> = {
  documents: [["vitest", "run", ...CONFIG, "--project", "documents"]],
  console: [["vitest", "run", ...CONFIG, "--project", "console"]],
  tutorial: [["vitest", "run", ...CONFIG, "--project", "tutorial"]],
  // The tests that wait for timings, with the true ones instead of a tenth.
  timings: [["env", "CYRNEL_TRUE_TIMINGS=1", "vitest", "run", ...CONFIG, ...TIMED]],
  container: ["security", "gvisor", "alerts", "build-and-run"].map((name) => [`tests/container/${name}.sh`]),
  cluster: [["tests/cluster/run.sh"]],
};
const WITHOUT_LANES = ["--project=!documents", "--project=!console", "--project=!tutorial"];

/** What vitest does not see, because these tests read files or start programs: a change on the left asks for the right. */
const BEYOND_IMPORTS: Record<string, string[]> = {
  "{*.md,docs/**,examples/**,modules/*/README.md}": [
    "tests/unit/{docs*,examples}.test.ts",
    "tests/e2e/*.test.ts",
  ],
  "{*.json,tests/packages/*.json}": ["tests/unit/install-scripts.test.ts"],
  "{.dependency-cruiser.cjs,NOTICE}": ["tests/unit/import-rules.test.ts"],
  "{build/runner.ts,runner/{child,wire,jail,isolation}/**}": [
    "tests/contract/typescript-*.test.ts",
    "tests/wpt/*.test.ts",
    "tests/security/{escape,jail,self}*.test.ts",
  ],
  "modules/typescript-ivm/**": ["tests/contract/typescript-ivm.test.ts", "tests/integration/ivm-*.test.ts"],
  "{command,client}/**": ["tests/integration/command/*.test.ts", "tests/integration/client-examples.test.ts"],
  "{web,client}/**": ["tests/e2e/console/*.test.ts", "tests/integration/console.test.ts"],
  "api/{*.ts,config/**,db/**}": ["tests/integration/{startup,shutdown,backup,secrets-startup}.test.ts"],
  "{deploy/**,Dockerfile,compose.yaml}": [
    "tests/contract/deploy/*.test.ts",
    "tests/unit/docs-{commands,deploy}.test.ts",
  ],
  "bench/trace-run.ts": ["tests/integration/trace-run.test.ts"],
};

const PLACES = ["node_modules/.bin", "tests/node_modules/.bin"].map((place) => resolve(ROOT, place));
const OPTIONS = {
  cwd: ROOT,
  env: { ...process.env, PATH: [...PLACES, process.env.PATH].join(":") },
  stdio: "inherit",
} satisfies SpawnOptions;
/** Of the checks: they take the time that the tests leave. */
const NICENESS = 10;

function run(program: string, ...args: string[]): void {
  const { status, error } = spawnSync(program, args, OPTIONS);
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

/** Resolves with the exit code. */
async function runBeside(niceness: number, program: string, ...args: string[]): Promise<number | null> {
  const child = spawn(program, args, OPTIONS);
  const closed = once(child, "close");
  if (child.pid !== undefined) setPriority(child.pid, niceness);
  const [code] = await closed;
  return code;
}

/** The checks beside the tests, which wait for clocks and processes half of the time. Both run to their end. */
async function checkAndTest(): Promise<void> {
  const checks = runBeside(NICENESS, "node", "tests/checks/main.ts");
  const tests = runBeside(0, "vitest", "run", ...CONFIG, ...WITHOUT_LANES);
  const [checkCode, testCode] = await Promise.all([checks, tests]);
  if (checkCode !== 0) process.stdout.write("\nA check has failed: see FAILED further up.\n");
  process.exit(checkCode === 0 && testCode === 0 ? 0 : 1);
}

/** Test files that a change can reach: by what they import, and by the table above. */
function listReached(): string[] {
  const list = ["list", ...CONFIG, "--filesOnly", "--json", ...WITHOUT_LANES, "--changed", findBase()];
  const vitest = resolve(ROOT, "tests/node_modules/.bin/vitest");
  const found = JSON.parse(execFileSync(vitest, list, { cwd: ROOT, encoding: "utf8" })) as { file: string }[];
  const changed = listChangedFiles();
  const wanted = Object.entries(BEYOND_IMPORTS).flatMap(([from, to]) =>
    changed.some((file) => matchesGlob(file, from))
      ? to.flatMap((pattern) => globSync(pattern, { cwd: ROOT }))
      : [],
  );
  return [...new Set([...found.map(({ file }) => relative(ROOT, file)), ...wanted])];
}

const [first = "", ...rest] = process.argv.slice(2);
run("npm", "run", "build", "--silent");
if (first === "--changed") {
  const files = listReached();
  console.log(`${files.length} test files are reached by what differs from ${findBase()}.`);
  if (files.length > 0) run("vitest", "run", ...CONFIG, ...files, ...rest);
} else if (LANES[first] !== undefined) {
  for (const [program = "", ...args] of LANES[first]) run(program, ...args, ...rest);
} else if (first !== "") {
  run("vitest", "run", ...CONFIG, first, ...rest);
} else {
  await checkAndTest();
}
