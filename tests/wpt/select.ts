/**
 * Takes the web-platform tests that apply from a copy of them: `node tests/wpt/select.ts <folder>`. Files of which a quarter of the tests pass
 * are copied to files/, with the scripts they name; left-out.json lists the others, folders of fetch/api without any, and the tests that fail,
 * with the reason.
 */
import { globSync } from "node:fs";
import { copyFile, cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { FOLDER_REASONS, findReason } from "./reasons.ts";
import { FILES, type Outcome, openEnvironment, runFile, scriptsOf } from "./run.ts";

const SELECTED = [
  "fetch/api/{abort,basic,body,headers,request,response}/*.any.js",
  "xhr/formdata/*.any.js",
  "FileAPI/{blob,file}/*.any.js",
];
/** What the tests kept fetch. */
const FETCHED = "fetch/api/resources/{top.txt,data.json}";

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("Expected the folder of the web-platform tests.");
await rm(FILES, { recursive: true, force: true });
await using bench = await openEnvironment("typescript-process", folder);
const folders: Record<string, string> = {};
const files: Record<string, string> = {};
const tests: Record<string, Record<string, string[]>> = {};
for (const name of SELECTED.flatMap((pattern) => globSync(pattern, { cwd: folder })).sort()) {
  const source = await readFile(path.join(folder, name), "utf8");
  let why = source;
  let outcomes: Outcome[] = [];
  try {
    outcomes = await runFile(bench, name, folder);
  } catch (error) {
    why = `${(error as Error).message} ${source}`;
  }
  if (outcomes.filter(({ ok }) => ok).length <= outcomes.length / 4) {
    const failures = outcomes.map((outcome) => outcome.why).join(" ");
    files[name] = reasonOf(`${name} ${failures} ${why}`, name);
    continue;
  }
  for (const failed of outcomes.filter(({ ok }) => !ok)) {
    const reason = reasonOf(
      `${name} ${failed.name} ${failed.why} `,
      `${name}: ${failed.name}: ${failed.why}`,
      source,
    );
    tests[name] ??= {};
    tests[name][reason] ??= [];
    tests[name][reason].push(failed.name);
  }
  for (const kept of [name, ...scriptsOf(name, source)]) await copy(kept);
}
for (const name of globSync("fetch/api/*/", { cwd: folder }).sort()) {
  if (globSync("*.any.js", { cwd: path.join(FILES, name) }).length > 0) continue;
  const reason = FOLDER_REASONS[name];
  if (reason === undefined) throw new Error(`No reason is known to leave this folder out: ${name}`);
  folders[name] = reason;
}
for (const name of globSync(FETCHED, { cwd: folder })) await copy(name);
await cp(path.join(folder, "LICENSE.md"), path.join(import.meta.dirname, "LICENSE.md"));
const list = path.join(import.meta.dirname, "left-out.json");
await writeFile(list, `${JSON.stringify({ folders, files, tests }, null, 2)}\n`);

function reasonOf(about: string, what: string, source = ""): string {
  const reason = findReason(about) ?? findReason(source);
  if (reason === null) throw new Error(`No reason is known to leave this out: ${what}`);
  return reason;
}

async function copy(name: string): Promise<void> {
  const to = path.join(FILES, name);
  await mkdir(path.dirname(to), { recursive: true });
  await copyFile(path.join(folder as string, name), to);
}
