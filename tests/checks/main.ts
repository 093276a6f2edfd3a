/**
 * `npm run check [-- name…] [--fast] [--write]`: what holds without running a test. Two checks at a time; each says how
 * long it took, and what it found if it found something. `--write` mends what a program can: the format, generated files.
 */
import { execFile } from "node:child_process";
import path from "node:path";
import { parseArgs, promisify } from "node:util";
import { listChangedFiles } from "./changed.ts";
import { TSC } from "./packages.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
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
const AT_ONCE = 2;
const MAX_OUTPUT_BYTES = 64 << 20;

interface Check {
  name: string;
  command: string[];
  /** Command that `--write` starts instead. Without one, the findings have to be fixed by hand. */
  write?: string[];
  /** Command that `--fast` starts instead; null leaves the check out. */
  fast?: string[] | null;
}

/** `--fast`: a compiler that remembers what it has seen looks at what has changed. */
function types(name: string, project: string): Check {
  const remembered = `node_modules/.cache/${name}.tsbuildinfo`;
  return {
    name,
    command: [TSC, "--noEmit", "-p", project],
    fast: [TSC, "--noEmit", "-p", project, "--incremental", "--tsBuildInfoFile", path.join(ROOT, remembered)],
  };
}

/** A program that writes a committed file, and with --check compares it with what it would write. */
const generated = (program: string): Check => ({
  name: "generated",
  command: ["node", program, "--check"],
  write: ["node", program],
  fast: null,
});

const style = ["biome", "ci", "--colors=off", "--error-on-warnings", "--no-errors-on-unmatched"];
const changed = listChangedFiles();

const CHECKS: Check[] = [
  types("types", "."),
  types("types-web", "web"),
  {
    name: "style",
    command: style,
    write: ["biome", "check", "--colors=off", "--write", "--error-on-warnings"],
    fast: changed.length === 0 ? null : [...style, ...changed],
  },
  { name: "imports", command: ["depcruise", "--config", ".dependency-cruiser.cjs", ...FOLDERS] },
  { name: "unused", command: ["knip"], fast: null },
  { name: "size", command: ["node", "tests/checks/size.ts", "--check"] },
  {
    name: "english",
    command: ["node", "tests/checks/english.ts"],
    write: ["node", "tests/checks/english.ts", "--write"],
  },
  generated("api/openapi-main.ts"),
  generated("api/config/page.ts"),
  generated("api/db/schema-dump.ts"),
  generated("tests/checks/client-schema.ts"),
  generated("command/reference-page.ts"),
  generated("tests/checks/sdk-page.ts"),
  generated("tests/checks/example-declarations.ts"),
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { fast: { type: "boolean" }, write: { type: "boolean" } },
});
const names = [...new Set(CHECKS.map(({ name }) => name))];
const unknown = positionals.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  throw new Error(`No check is named ${unknown.join(", ")}. There are: ${names.join(", ")}.`);
}

const chosen = CHECKS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
const commands = chosen.flatMap(({ name, command, write, fast }) => {
  const started = values.write ? write : values.fast && fast !== undefined ? fast : command;
  return started ? [{ name, command: started }] : [];
});
const waiting = commands.values();
// One after the other where they write: the types of the client are made of the document of the API.
await Promise.all(Array.from({ length: values.write ? 1 : AT_ONCE }, runNext));

async function runNext(): Promise<void> {
  for (const { name, command } of waiting) await run(name, command);
}

async function run(name: string, [program = "", ...args]: string[]): Promise<void> {
  const places = ["node_modules/.bin", "tests/node_modules/.bin"].map((place) => path.join(ROOT, place));
  const env = { ...process.env, PATH: [...places, process.env.PATH].join(path.delimiter) };
  const began = performance.now();
  const output = await promisify(execFile)(program, args, {
    cwd: ROOT,
    env,
    maxBuffer: MAX_OUTPUT_BYTES,
  }).then(
    () => null,
    (error: { stdout?: string; stderr?: string; message: string }) =>
      `${error.stdout ?? ""}${error.stderr ?? ""}`.trim() || error.message,
  );
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const label = name === "generated" ? `${name} ${args[0]}` : name;
  process.stdout.write(`${output === null ? "ok    " : "FAILED"} ${label} (${seconds} s)\n`);
  if (output === null) return;
  process.stdout.write(`${output}\n`);
  process.exitCode = 1;
}
