/**
 * An installed package made into one text, by a process of its own (bundle-main.ts) that is bounded in time, memory and output.
 * Nothing of the package is executed on the host, and nothing outside of `root` is read.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import pLimit from "p-limit";
import { RLIMIT_DATA } from "../jail/kernel/kernel-headers.ts";
import { openKernel } from "../jail/kernel/syscalls.ts";
import { findNodeBinary } from "../process/node-binary.ts";
import { endFirstWithoutMemory } from "../process/start-process.ts";

export interface BundledPackage {
  name: string;
  version: string;
  /** SHA-256 of `code`, hexadecimal. */
  digest: string;
  /**
   * An expression (see bundle-text.ts), `(require) => ({ ".": () => namespace, "./locale": () => namespace })`. Modules of the package are shared
   * between its exports and evaluated at their first use. `require` answers the modules of Node in `builtins`.
   */
  code: string;
  /** What of it can be imported: `.`, `./locale`. */
  exports: string[];
  /** Modules of Node it needs and a script has. */
  builtins: string[];
  /** Modules it names and a script has not: using them throws, saying so. */
  missing: string[];
  /** JSON `{sources, mappings, main?: {sources, mappings}}`: from lines of `code` to lines of files such as `zod@4.1.2/v4/core.js`. Null: too large. */
  mappings: string | null;
  /** Declarations of types, its own and those of its tree, by path below node_modules; empty where there are too many. */
  types: Record<string, string>;
  /** Bytes: of all code, of that of the main module alone, of mappings and types; and the files that went into the code. */
  sizes: { code: number; main: number | null; mappings: number; types: number; files: number };
}

const MAX_MS = 60_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
/** Of the process, and again of esbuild's below it. */
const MAX_DATA_BYTES = 4n * 1024n ** 3n;
const enter = pLimit(1);

export interface BundleRequest {
  /** The folder under which the package `name` is installed. */
  nodeModules: string;
  name: string;
  /** Nothing outside of this folder gets into the bundle. */
  root: string;
}

export type BundleOutcome = BundledPackage | { problem: string };

/** Nothing outside of `root` gets into the bundle (by default `nodeModules` itself). Rejects only for faults of ours. */
export async function bundlePackage(
  nodeModules: string,
  name: string,
  { root = nodeModules, maxMs = MAX_MS }: { root?: string; maxMs?: number } = {},
): Promise<BundleOutcome> {
  const [made] = await bundlePackages([{ nodeModules, name, root }], maxMs);
  return made as BundleOutcome;
}

/** Bundles packages in one process, which shares its bounds between them. Returns the outcomes in the order of the requests. */
export async function bundlePackages(
  requests: readonly BundleRequest[],
  maxMs: number,
): Promise<BundleOutcome[]> {
  return enter(() => run(requests, maxMs));
}

function run(requests: readonly BundleRequest[], maxMs: number): Promise<BundleOutcome[]> {
  return new Promise((resolve, reject) => {
    const program = fileURLToPath(new URL("./bundle-main.ts", import.meta.url));
    const flags = ["--no-warnings", "--max-old-space-size=1024", "--stack-size=3900"];
    const child = spawn(
      findNodeBinary().path,
      [...flags, program, ...requests.map((one) => JSON.stringify(one))],
      {
        cwd: "/",
        env: { GOMAXPROCS: "2", GOMEMLIMIT: "1GiB" },
        stdio: ["ignore", "pipe", "pipe"],
        // esbuild is a process below it, and has to end with it.
        detached: true,
      },
    );
    let isOver = false;
    const end = () => {
      isOver = true;
      killGroup(child);
    };
    const timer = setTimeout(end, maxMs);
    const chunks: Buffer[] = [];
    let bytes = 0;
    let said = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MAX_OUTPUT_BYTES) end();
    });
    child.stderr?.on("data", (chunk: Buffer) => {
      if (said.length < 2000) said += chunk.toString();
    });
    child.once("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once("close", (code) => {
      clearTimeout(timer);
      if (code === 0)
        resolve(
          Buffer.concat(chunks)
            .toString()
            .trimEnd()
            .split("\n")
            .map((line) => JSON.parse(line)),
        );
      else if (isOver || code === null || OUT_OF_MEMORY.test(said))
        resolve(
          requests.map(() => ({
            problem: `It takes more than ${maxMs} ms, or too much memory, to be made into one file.`,
          })),
        );
      else reject(new Error(`The bundler ended with code ${code}: ${said.slice(0, 2000)}`));
    });
    limitMemory(child);
    endFirstWithoutMemory(child.pid);
  });
}

const OUT_OF_MEMORY =
  /out of memory|cannot allocate memory|heap limit|The service (?:was stopped|is no longer)/i;

function limitMemory({ pid }: ChildProcess): void {
  if (pid === undefined || process.platform !== "linux") return;
  try {
    openKernel().prlimit(pid, RLIMIT_DATA, { soft: MAX_DATA_BYTES, hard: MAX_DATA_BYTES });
  } catch {
    // A Node without FFI: the limits of V8 and of Go are left.
  }
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended by now.
  }
}
