/**
 * `npm run build [part…]`: brings all of dist/ or the named parts up to date. Builds a part only if one of its input
 * files has changed.
 */
import { createHash } from "node:crypto";
import { existsSync, globSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "./bundling.ts";
import { buildCommand, warmUpCommand } from "./command.ts";
import { buildConsole } from "./console.ts";
import { buildRunner } from "./runner.ts";
import { buildServer } from "./server.ts";
import { buildStarterSet } from "./starter.ts";

const DIST = join(ROOT, "dist");
/** Each part's build function returns its input files. */
const PARTS: Record<string, () => Promise<string[]>> = {
  runner: buildRunner,
  server: buildServer,
  console: buildConsole,
  command: buildCommand,
};
/** These determine the code of all packages, so files below node_modules are not checked. */
const PACKAGES = ["package-lock.json", ...globSync("patches/*.patch", { cwd: ROOT })];

/** Returns whether the part was built. */
async function bringUpToDate(name: string): Promise<boolean> {
  const record = join(DIST, `${name}.inputs.json`);
  if (await isCurrent(record)) return false;
  const startedAt = performance.now();
  const inputs = (await PARTS[name]?.()) ?? [];
  const own = inputs.filter((input) => !input.includes("node_modules/") && existsSync(join(ROOT, input)));
  const sums: Record<string, string> = {};
  for (const input of [...own, ...BUILDERS, ...PACKAGES]) sums[input] = await sum(input);
  await writeFile(record, JSON.stringify(sums));
  process.stderr.write(`cyrnel: built ${name} in ${((performance.now() - startedAt) / 1000).toFixed(1)} s\n`);
  return true;
}

const BUILDERS = ["main", "bundling", "runner", "code-cache", "server", "console", "command"].map(
  (name) => `build/${name}.ts`,
);

async function isCurrent(record: string): Promise<boolean> {
  if (!existsSync(record)) return false;
  const sums: Record<string, string> = JSON.parse(await readFile(record, "utf8"));
  const checks = Object.entries(sums).map(async ([input, known]) => (await sum(input)) === known);
  return (await Promise.all(checks)).every(Boolean);
}

async function sum(input: string): Promise<string> {
  const bytes = await readFile(join(ROOT, input)).catch(() => Buffer.alloc(0));
  return createHash("sha256").update(bytes).digest("base64url");
}

const names = process.argv.slice(2);
const known = [...Object.keys(PARTS), "packages"];
const unknown = names.find((name) => !known.includes(name));
if (unknown !== undefined)
  throw new Error(`No part is called ${unknown}. The parts are ${known.join(", ")}.`);
const wanted = new Set(names.length === 0 ? known : names);
await mkdir(DIST, { recursive: true });
const starterSet = wanted.delete("packages") ? buildStarterSet() : null;
const built = await Promise.all([...wanted].map(async (name) => [name, await bringUpToDate(name)] as const));
await starterSet;
// if-changed.sh compares the age of sources with this file.
if (names.length === 0) await writeFile(join(DIST, "built"), "");
if (built.some(([name, isNew]) => name === "command" && isNew)) await warmUpCommand();
