/**
 * One source, transpiled by a run of esbuild's program. Its service, which is quicker for every further source, takes longer
 * to be ready than this to be done.
 */
import { closeSync, fstatSync, readSync } from "node:fs";
import { canGiveBirth } from "../jail/birth-code.ts";
import { openBornPrograms } from "../jail/born-program.ts";
import {
  NR_PRCTL,
  NR_PRLIMIT64,
  PR_SET_PDEATHSIG,
  RLIMIT_DATA,
  RLIMIT_FSIZE,
  SIGKILL,
} from "../jail/kernel-headers.ts";
import { makeMemoryFile } from "../jail/memory-file.ts";
import { watchChildren } from "../jail/reaping.ts";
import { layOutLimit, openKernel } from "../jail/syscalls.ts";
import {
  findEsbuild,
  listFlags,
  MAX_OUTPUT_BYTES,
  memoryFor,
  splitOutput,
  type Transformed,
} from "./esbuild-program.ts";

/**
 * Null where it cannot be had this way, for whatever reason: the service then says it. Gives up after `maxMs`. The program has
 * been started when this returns.
 */
export async function transformOnce(
  source: string,
  loader: "ts" | "tsx",
  maxMs: number,
): Promise<Transformed | null> {
  const path = canGiveBirth() ? findEsbuild() : null;
  if (path === null) return null;
  using undo = new DisposableStack();
  try {
    return await run(path, source, loader, maxMs, undo);
  } catch {
    return null;
  }
}

async function run(
  path: string,
  source: string,
  loader: "ts" | "tsx",
  maxMs: number,
  undo: DisposableStack,
): Promise<Transformed | null> {
  const kernel = openKernel();
  const input = undo.adopt(makeMemoryFile(kernel, source), closeSync);
  const output = undo.adopt(makeMemoryFile(kernel, ""), closeSync);
  // One source has nothing to be done side by side.
  const program = { path, args: listFlags(loader), cwd: "/", env: { GOMAXPROCS: "1" } };
  const limit = (most: bigint) => layOutLimit({ soft: most, hard: most });
  const running = undo.adopt(watchChildren(kernel), (watcher) => watcher.stop());
  const pid = openBornPrograms(kernel)(program, [input, output, output], {
    last: [
      { name: "PR_SET_PDEATHSIG", call: NR_PRCTL, args: [PR_SET_PDEATHSIG, SIGKILL] },
      {
        name: "RLIMIT_FSIZE",
        call: NR_PRLIMIT64,
        args: [0, RLIMIT_FSIZE, limit(BigInt(MAX_OUTPUT_BYTES)), null],
      },
      { name: "RLIMIT_DATA", call: NR_PRLIMIT64, args: [0, RLIMIT_DATA, limit(memoryFor(source)), null] },
    ],
  });
  const child = running.watch(pid);
  const timer = setTimeout(child.kill, maxMs);
  const { code } = await child.exited;
  clearTimeout(timer);
  return code === 0 ? splitOutput(readWhole(output)) : null;
}

function readWhole(file: number): string {
  const bytes = Buffer.allocUnsafe(fstatSync(file).size);
  for (let at = 0; at < bytes.length; ) {
    const count = readSync(file, bytes, at, bytes.length - at, at);
    if (count === 0) break;
    at += count;
  }
  return bytes.toString("utf8");
}
