/**
 * A large source, transpiled by a process of its own: one that is nested in odd ways takes the transpiler minutes and gigabytes, of
 * which a short one has no room. It loses nobody else's source, and it is known whose fault it was.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { RLIMIT_DATA } from "../jail/kernel-headers.ts";
import { openKernel } from "../jail/syscalls.ts";
import {
  findEsbuild,
  listFlags,
  MAX_OUTPUT_BYTES,
  memoryFor,
  splitOutput,
  type Transformed,
} from "./esbuild-program.ts";
import { createGate } from "./gate.ts";

const enter = createGate(availableParallelism());

/** `refused`: something is wrong with the source, or it cannot be had this way: the service says what. `lost`: it took too much. */
export async function transformAlone(
  source: string,
  loader: "ts" | "tsx",
  maxMs: number,
): Promise<Transformed | "refused" | "lost"> {
  const path = findEsbuild();
  if (path === null) return "refused";
  return enter(() => run(path, source, loader, maxMs));
}

function run(
  path: string,
  source: string,
  loader: "ts" | "tsx",
  maxMs: number,
): Promise<Transformed | "refused" | "lost"> {
  return new Promise((resolve) => {
    // What it writes to standard error is a trace of its own stack, if anything.
    const child = spawn(path, listFlags(loader), {
      cwd: "/",
      env: { GOMAXPROCS: "1" },
      stdio: ["pipe", "pipe", "ignore"],
    });
    const timer = setTimeout(() => child.kill("SIGKILL"), maxMs);
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
    limitMemory(child, memoryFor(source));
    // It may have ended by now.
    child.stdin?.on("error", () => {}).end(source);
  });
}

/** Where the kernel can be asked; elsewhere its time is the only limit. */
function limitMemory({ pid }: ChildProcess, bytes: bigint): void {
  if (pid === undefined || process.platform !== "linux") return;
  try {
    openKernel().prlimit(pid, RLIMIT_DATA, { soft: bytes, hard: bytes });
  } catch {
    // A Node without FFI, which level development may run on.
  }
}
