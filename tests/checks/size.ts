/**
 * `npm run size`: lines of TypeScript without blanks, comments and generated files, and the files, functions and folders
 * that exceed the budgets of CONTRIBUTING.md. Fails above the product's ceiling; `--check` looks at nothing else.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { ts } from "@ts-morph/common";
import { CEILING } from "./ceiling.ts";
import { parse, readComments, visitTokens } from "./comments.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const FOLDERS = ["api", "build", "runner", "kernel", "modules", "sdk", "client", "command", "web"];
const GENERATED = ["client/schema.ts"];
const BENCH_DATA = "bench/truth/cases/";
const MAX_BENCH_LINES = 3500;
const MAX_LINES = CEILING.reduce((sum, { lines }) => sum + lines, 0);
const MAX_FILE_LINES = 300;
const MAX_FOLDER_FILES = 12;
const MAX_FUNCTION_LINES = 100;
const MAX_LONG_FUNCTIONS = 15;
const MAX_COMMENTS_PER_1000_LINES = 50;
const SMALL_FILE_LINES = 60;
const MAX_SMALL_FILES = 20;

interface SourceFile {
  name: string;
  /** All lines, as an editor counts them. */
  lines: number;
  /** Lines that are neither blank nor only a comment. */
  code: number;
  comments: number;
  longFunctions: string[];
  importers: string[];
}

function run(program: string, args: string[]): string {
  const { stdout, stderr } = spawnSync(program, args, { cwd: ROOT, encoding: "utf8", maxBuffer: 64 << 20 });
  // The exit code does not matter here: `npm run check` reports broken import rules.
  if (stdout === "") throw new Error(`${program} ${args.join(" ")} printed nothing: ${stderr}`);
  return stdout;
}

/** Counts the lines with a token on them. */
function countCode(source: ts.SourceFile): number {
  const lines = new Set<number>();
  visitTokens(source, (token) => {
    if (token.end === token.getStart(source)) return;
    const first = source.getLineAndCharacterOfPosition(token.getStart(source)).line;
    const last = source.getLineAndCharacterOfPosition(token.end).line;
    for (let line = first; line <= last; line += 1) lines.add(line);
  });
  const written = source.text.split("\n");
  return [...lines].filter((line) => written[line]?.trim()).length;
}

/** Lists the functions that are too long to read in one go, each with its name or the line it starts on. */
function listLongFunctions(source: ts.SourceFile): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && "body" in node && node.body) {
      const first = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
      const lines = source.getLineAndCharacterOfPosition(node.end).line + 2 - first;
      const name =
        node.name?.getText(source) ??
        (ts.isVariableDeclaration(node.parent) ? node.parent.name.getText(source) : "");
      if (lines >= MAX_FUNCTION_LINES) found.push(`${source.fileName}:${first} ${name} (${lines})`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Who imports whom, types too, as the checker of the import rules sees it. */
function readImports(): Map<string, string[]> {
  const cruise = path.join(ROOT, "tests/node_modules/.bin/depcruise");
  const args = [cruise, "--config", ".dependency-cruiser.cjs", "--output-type", "json", ...FOLDERS];
  const report = JSON.parse(run(process.execPath, args)) as {
    modules: { source: string; dependencies: { resolved: string }[] }[];
  };
  return new Map(
    report.modules.map(({ source, dependencies }) => [
      source,
      [...new Set(dependencies.map(({ resolved }) => resolved))],
    ]),
  );
}

/** Groups of files that import each other in a circle (Tarjan's strongly connected components). */
function findCircles(imports: Map<string, string[]>): string[][] {
  const index = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];
  const visit = (file: string): number => {
    index.set(file, index.size);
    lowest.set(file, index.get(file) ?? 0);
    stack.push(file);
    for (const to of imports.get(file) ?? []) {
      if (!imports.has(to)) continue;
      const reached = index.has(to) ? (stack.includes(to) ? (index.get(to) ?? 0) : Infinity) : visit(to);
      lowest.set(file, Math.min(lowest.get(file) ?? 0, reached));
    }
    if (lowest.get(file) === index.get(file)) {
      const circle = stack.splice(stack.indexOf(file));
      if (circle.length > 1) circles.push(circle);
    }
    return lowest.get(file) ?? 0;
  };
  for (const file of imports.keys()) if (!index.has(file)) visit(file);
  return circles;
}

const tracked = run("git", ["ls-files", ...FOLDERS])
  .split("\n")
  .filter(Boolean);
const isCheck = process.argv.includes("--check");
const imports = isCheck ? new Map<string, string[]>() : readImports();
const importers = Map.groupBy(
  [...imports].flatMap(([from, to]) => to.map((file) => ({ from, file }))),
  ({ file }) => file,
);
const files = tracked
  .filter((name) => /\.tsx?$/.test(name) && !GENERATED.includes(name))
  .map((name): SourceFile => {
    const text = readFileSync(path.join(ROOT, name), "utf8");
    const source = parse(name, text);
    return {
      name,
      lines: text.trimEnd().split("\n").length,
      code: countCode(source),
      comments: readComments(source).length,
      longFunctions: listLongFunctions(source),
      importers: importers.get(name)?.map(({ from }) => from) ?? [],
    };
  });

const total = files.reduce((sum, { code }) => sum + code, 0);
if (total > MAX_LINES) {
  console.error(
    `The product has ${total} lines; its ceiling is ${MAX_LINES}. Remove lines, or raise the ceiling in tests/checks/ceiling.ts with a line that says why.`,
  );
  process.exitCode = 1;
}
if (isCheck) process.exit();

const byFolder = Map.groupBy(files, ({ name }) => path.dirname(name).split("/").slice(0, 2).join("/"));
const rows = [...byFolder].map(([folder, inside]) => ({
  folder: `${folder} (${inside.length})`,
  code: inside.reduce((sum, { code }) => sum + code, 0),
}));
for (const { folder, code } of rows.sort((a, b) => b.code - a.code)) {
  console.log(`${String(code).padStart(6)}  ${folder}`);
}

const once = files.filter((file) => file.lines < SMALL_FILE_LINES && file.importers.length === 1);
const long = files.filter(({ lines }) => lines > MAX_FILE_LINES);
const wide = [...Map.groupBy(tracked, path.dirname)].filter(([, inside]) => inside.length > MAX_FOLDER_FILES);
const circles = findCircles(imports);

const list = (title: string, target: number, found: string[]) => {
  console.log(`\n${found.length} ${title} (target: ${target === 0 ? 0 : `at most ${target}`})`);
  for (const line of found.sort()) console.log(`        ${line}`);
};
console.log(`\n${total} lines in ${files.length} files (ceiling: ${MAX_LINES})`);
const bench = run("git", ["ls-files", "bench/*.ts"])
  .split("\n")
  .filter((name) => name !== "" && !name.startsWith(BENCH_DATA))
  .map((name) => countCode(parse(name, readFileSync(path.join(ROOT, name), "utf8"))));
console.log(
  `${bench.reduce((sum, code) => sum + code, 0)} lines of bench/ in ${bench.length} files, without the scripts of its corpus (target: at most ${MAX_BENCH_LINES})`,
);
const comments = files.reduce((sum, file) => sum + file.comments, 0);
console.log(
  `${Math.round((comments / total) * 1000)} comments per 1,000 lines, ${comments} in all (target: at most ${MAX_COMMENTS_PER_1000_LINES})`,
);
list(
  `functions of ${MAX_FUNCTION_LINES} lines and more`,
  MAX_LONG_FUNCTIONS,
  files.flatMap(({ longFunctions }) => longFunctions),
);
list(
  `files under ${SMALL_FILE_LINES} lines that one file imports`,
  MAX_SMALL_FILES,
  once.map(({ name, lines, importers: [importer] }) => `${name} (${lines}), by ${importer}`),
);
list(
  `files over ${MAX_FILE_LINES} lines`,
  0,
  long.map(({ name, lines }) => `${name} (${lines})`),
);
list(
  `folders over ${MAX_FOLDER_FILES} files`,
  0,
  wide.map(([folder, inside]) => `${folder} (${inside.length})`),
);
list(
  "circles of imports",
  0,
  circles.map((circle) => circle.join(", ")),
);
