/**
 * A large source, transpiled by a process of its own: one that is nested in odd ways takes the transpiler minutes and
 * gigabytes, which a short one cannot. Here it ends no other source, and which one was at fault is known.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { RLIMIT_CPU, RLIMIT_DATA } from "../jail/kernel/kernel-headers.ts";
import { openKernel } from "../jail/kernel/syscalls.ts";
import { findPackage } from "../places.ts";
import { endFirstWithoutMemory } from "../process/start-process.ts";

/** How every source is transpiled: options of esbuild's `transform` beside the loader, how maps are returned and what is logged. */
export const TRANSFORM_OPTIONS = {
  target: "es2024",
  // Run as it is: this engine has it, and the lowered form hides where an error came from.
  supported: { using: true, "import-attributes": true },
  charset: "ascii",
  sourcefile: "script.ts",
  legalComments: "none",
  tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
} as const;

export type Loader = "ts" | "tsx" | "js";

/** In place of a module's imports of names, members of what a `require` answers. */
export const LINK_OPTIONS = { format: "cjs", define: { this: "undefined" } } as const;

/** Code and a source map, as the service answers them. */
export interface Transformed {
  code: string;
  map: string;
}

/** On a busy machine a source waits for the processor most of the time, and is not at fault for that. */
const MAX_WALL_RATIO = 5;
/** Of code and map. Many times what the largest source becomes. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** Lets so many tasks run at a time; the others wait in the order in which they came. */
export function createGate(most: number): <T>(task: () => Promise<T>) => Promise<T> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (task) => {
    if (running === most) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}

const enter = createGate(availableParallelism());

/**
 * `refused`: something is wrong with the source, or it cannot be had this way: the service says what. `lost`: it took too much.
 * `maxMs`: of CPU time.
 */
export async function transformAlone(
  source: string,
  loader: Loader,
  maxMs: number,
  isLinking = false,
): Promise<Transformed | "refused" | "lost"> {
  const path = findEsbuild();
  if (path === null) return "refused";
  return enter(() => run(path, source, listFlags(loader, isLinking), maxMs));
}

function run(
  path: string,
  source: string,
  flags: string[],
  maxMs: number,
): Promise<Transformed | "refused" | "lost"> {
  return new Promise((resolve) => {
    // What it writes to standard error is a trace of its own stack, if anything.
    const child = spawn(path, flags, {
      cwd: "/",
      env: { GOMAXPROCS: "1" },
      stdio: ["pipe", "pipe", "ignore"],
    });
    endFirstWithoutMemory(child.pid);
    const isLimited = limit(child, memoryFor(source), maxMs);
    const timer = setTimeout(() => child.kill("SIGKILL"), isLimited ? MAX_WALL_RATIO * maxMs : maxMs);
    const chunks: Buffer[] = [];
    let bytes = 0;
    child.stdout?.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MAX_OUTPUT_BYTES) child.kill("SIGKILL");
    });
    child.once("error", () => {
      clearTimeout(timer);
      resolve("refused");
    });
    child.once("close", (code) => {
      clearTimeout(timer);
      // 1: it has said what is wrong. 2 is Go's own, for memory and stacks that ran out.
      if (code === 0) resolve(splitOutput(Buffer.concat(chunks).toString()) ?? "refused");
      else resolve(code === 1 ? "refused" : "lost");
    });
    // It may have ended by now.
    child.stdin?.on("error", () => {}).end(source);
  });
}

/** Answers whether the kernel keeps to both, which it ends the process for; where it cannot be asked, wall time is the only limit. */
function limit({ pid }: ChildProcess, bytes: bigint, cpuMs: number): boolean {
  if (pid === undefined || process.platform !== "linux") return false;
  try {
    const kernel = openKernel();
    const seconds = BigInt(Math.ceil(cpuMs / 1000));
    kernel.prlimit(pid, RLIMIT_DATA, { soft: bytes, hard: bytes });
    // Go ignores what the soft limit sends; the hard one kills.
    kernel.prlimit(pid, RLIMIT_CPU, { soft: seconds, hard: seconds });
    return true;
  } catch {
    // A Node without FFI, which level development may run on; or the process has ended.
    return false;
  }
}

/** Bytes for one run: about twice what a source of that length takes that is not nested deeply; one that is would take gigabytes. */
function memoryFor(source: string): bigint {
  return BigInt(128 * 1024 * 1024 + 400 * source.length);
}

const MAP_START = "//# sourceMappingURL=data:application/json;base64,";

/** Null where it is not installed for this platform. */
function findEsbuild(): string | null {
  const folder = findPackage(`@esbuild/${process.platform}-${process.arch}`);
  return folder === null ? null : join(folder, "bin/esbuild");
}

/** For a source on standard input, whose code and map are to come out at standard output. */
function listFlags(loader: Loader, isLinking: boolean): string[] {
  const { target, supported, charset, sourcefile, legalComments, tsconfigRaw } = TRANSFORM_OPTIONS;
  return [
    `--loader=${loader}`,
    `--target=${target}`,
    ...Object.entries(supported).map(([feature, is]) => `--supported:${feature}=${is}`),
    `--charset=${charset}`,
    `--sourcefile=${sourcefile}`,
    `--legal-comments=${legalComments}`,
    `--tsconfig-raw=${JSON.stringify(tsconfigRaw)}`,
    ...(isLinking ? [`--format=${LINK_OPTIONS.format}`, `--define:this=${LINK_OPTIONS.define.this}`] : []),
    "--sourcemap=inline",
    "--sources-content=false",
    "--log-level=silent",
  ];
}

/** What came out. The map comes after the code, whose own text may have looked like one. Null: there is none. */
function splitOutput(text: string): Transformed | null {
  const at = text.lastIndexOf(MAP_START);
  if (at < 0) return null;
  const map = Buffer.from(text.slice(at + MAP_START.length), "base64").toString();
  return { code: text.slice(0, at), map };
}
