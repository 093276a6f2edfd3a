/**
 * Lists the files that a Node binary needs to start: itself, the loader and its shared libraries, determined by
 * asking the binary once. A child can never open anything else.
 */
import { execFile } from "node:child_process";
import { readFileSync, realpathSync } from "node:fs";
import { promisify } from "node:util";

/** Absolute, resolved paths; a folder includes its contents. */
export interface RuntimeFiles {
  execute: string[];
  read: string[];
}

export interface NodeRuntime {
  path: string;
  version: string;
  sharedObjects: string[];
}

const MAX_START_MS = 10_000;
/** Read by the loader if they exist; /dev/null replaces openssl.cnf, which Node must be able to open. */
const OPTIONAL_FILES = [
  "/etc/ld.so.cache",
  "/etc/ld-musl-x86_64.path",
  "/etc/ld-musl-aarch64.path",
  "/dev/null",
];

const DESCRIBE = `process.report.excludeNetwork = true;
process.stdout.write(JSON.stringify({
  version: process.version,
  sharedObjects: process.report.getReport().sharedObjects,
}))`;

/** Asks the binary, which is started once unless it is the current one. Rejects if it does not start. Linux only. */
export async function inspectNode(nodePath: string): Promise<NodeRuntime> {
  const path = realpathSync.native(nodePath);
  if (path === realpathSync.native(process.execPath)) {
    return { path, version: process.version, sharedObjects: listOwnLibraries(path) };
  }
  const { stdout } = await promisify(execFile)(nodePath, ["--no-warnings", "-e", DESCRIBE], {
    env: {},
    timeout: MAX_START_MS,
  });
  const answer = JSON.parse(stdout) as { version: string; sharedObjects: string[] };
  return {
    path,
    version: answer.version,
    sharedObjects: answer.sharedObjects.filter((path) => path.startsWith("/")),
  };
}

/** Lists the loader and system libraries, but no package's addon. */
function listOwnLibraries(program: string): string[] {
  const mapped = readFileSync("/proc/self/maps", "utf8").split("\n");
  const executed = mapped
    .filter((line) => line.includes(" r-xp "))
    .map((line) => line.slice(line.indexOf("/")));
  return [...new Set(executed)].filter(
    (path) => /\.so[.\d]*$/.test(path) && path !== program && !path.includes("/node_modules/"),
  );
}

/** Lists the files that this runtime's children may open. `more` adds files or folders; missing ones are skipped. */
export async function listRuntimeFiles(runtime: NodeRuntime, more: readonly string[]): Promise<RuntimeFiles> {
  const isLoader = (path: string) => /\/ld-[^/]*\.so[^/]*$/.test(path);
  const resolve = (paths: readonly string[]) => [
    ...new Set(paths.map(resolvePath).filter((path) => path !== null)),
  ];
  const loaders = runtime.sharedObjects.filter(isLoader);
  const libraries = runtime.sharedObjects.filter((path) => !isLoader(path));
  return {
    execute: resolve([runtime.path, ...loaders]),
    read: resolve([...libraries, ...OPTIONAL_FILES, ...more]),
  };
}

function resolvePath(path: string): string | null {
  try {
    return realpathSync.native(path);
  } catch {
    return null;
  }
}
