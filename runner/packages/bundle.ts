/**
 * Bundles an installed package in a separate process (bundle-main.ts), with limits on time, memory and output.
 * Executes none of the package's code and reads no file outside `root`.
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
  digest: string;
  /**
   * An expression (see bundle-text.ts), `(require) => ({ ".": () => namespace, "./locale": () => namespace })`. Its
   * exports share the package's modules, which are evaluated on first use. `require` returns the Node modules listed
   * in `builtins`.
   */
  code: string;
  exports: string[];
  /** Node modules that the package needs and that scripts have. */
  builtins: string[];
  /** Modules that the package imports and scripts lack: using one throws. */
  missing: string[];
  /**
   * JSON `{sources, mappings, main?: {sources, mappings}}`, from lines of `code` to lines such as
   * `zod@4.1.2/v4/core.js`. Null if it is too large.
   */
  mappings: string | null;
  /**
   * Type declarations of the package and its dependencies by path below node_modules; empty if there are too many.
   */
  types: Record<string, string>;
  /** In bytes, except `files`, the number of bundled files. */
  sizes: { code: number; main: number | null; mappings: number; types: number; files: number };
}

const MAX_MS = 60_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
/** Applies to the process, and separately to its esbuild child. */
const MAX_DATA_BYTES = 4n * 1024n ** 3n;
const enter = pLimit(1);

export interface BundleRequest {
  nodeModules: string;
  name: string;
  /** The bundle contains no file outside this folder. */
  root: string;
}

export type BundleOutcome = BundledPackage | { problem: string };

/** Rejects only for server faults. */
export async function bundlePackage(
  nodeModules: string,
  name: string,
  { root = nodeModules, maxMs = MAX_MS }: { root?: string; maxMs?: number } = {},
): Promise<BundleOutcome> {
  const [made] = await bundlePackages([{ nodeModules, name, root }], maxMs);
  return made as BundleOutcome;
}

/**
 * Bundles packages in one process, which shares its limits between them. Returns the outcomes in the order of the
 * requests.
 */
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
        // esbuild runs as the process's child and must end with it.
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
            problem: `Bundling it takes more than ${maxMs} ms or too much memory.`,
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
    // A Node without FFI has only the limits of V8 and Go.
  }
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // The process has already ended.
  }
}
