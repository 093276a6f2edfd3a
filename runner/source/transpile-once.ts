/**
 * One source, transpiled by a run of esbuild's program. Its service, which is quicker for every further source, takes longer
 * to be ready than this to be done.
 */
import { closeSync, fstatSync, readSync } from "node:fs";
import { join } from "node:path";
import { findPackage } from "../find-package.ts";
import { canGiveBirth } from "../jail/birth-code.ts";
import { openBornPrograms } from "../jail/born-program.ts";
import { NR_PRCTL, NR_PRLIMIT64, PR_SET_PDEATHSIG, RLIMIT_FSIZE, SIGKILL } from "../jail/kernel-headers.ts";
import { makeMemoryFile } from "../jail/memory-file.ts";
import { watchChildren } from "../jail/reaping.ts";
import { layOutLimit, openKernel } from "../jail/syscalls.ts";
import { TRANSFORM_OPTIONS } from "./transform-options.ts";

/** Code and a source map, as the service answers them. */
export interface Transformed {
  code: string;
  map: string;
}

const MAP_START = "//# sourceMappingURL=data:application/json;base64,";
/** Of code and map. Many times what the largest source becomes. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/**
 * Null where it cannot be had this way, for whatever reason: the service then says it. Gives up after `maxMs`. The program has
 * been started when this returns.
 */
export async function transformOnce(
  source: string,
  loader: "ts" | "tsx",
  maxMs: number,
): Promise<Transformed | null> {
  const folder = canGiveBirth() ? findPackage(`@esbuild/${process.platform}-${process.arch}`) : null;
  if (folder === null) return null;
  using undo = new DisposableStack();
  try {
    return await run(join(folder, "bin/esbuild"), source, loader, maxMs, undo);
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
  const size = BigInt(MAX_OUTPUT_BYTES);
  const limit = layOutLimit({ soft: size, hard: size });
  const running = undo.adopt(watchChildren(kernel), (watcher) => watcher.stop());
  const pid = openBornPrograms(kernel)(program, [input, output, output], {
    last: [
      { name: "PR_SET_PDEATHSIG", call: NR_PRCTL, args: [PR_SET_PDEATHSIG, SIGKILL] },
      { name: "prlimit", call: NR_PRLIMIT64, args: [0, RLIMIT_FSIZE, limit, null] },
    ],
  });
  const child = running.watch(pid);
  const timer = setTimeout(child.kill, maxMs);
  const { code } = await child.exited;
  clearTimeout(timer);
  return code === 0 ? split(readWhole(output)) : null;
}

function listFlags(loader: "ts" | "tsx"): string[] {
  const { target, supported, charset, sourcefile, legalComments, tsconfigRaw } = TRANSFORM_OPTIONS;
  return [
    `--loader=${loader}`,
    `--target=${target}`,
    ...Object.entries(supported).map(([feature, is]) => `--supported:${feature}=${is}`),
    `--charset=${charset}`,
    `--sourcefile=${sourcefile}`,
    `--legal-comments=${legalComments}`,
    `--tsconfig-raw=${JSON.stringify(tsconfigRaw)}`,
    "--sourcemap=inline",
    "--sources-content=false",
    "--log-level=silent",
  ];
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

/** The map comes after the code, whose own text may have looked like one. */
function split(text: string): Transformed | null {
  const at = text.lastIndexOf(MAP_START);
  if (at < 0) return null;
  const map = Buffer.from(text.slice(at + MAP_START.length), "base64").toString();
  return { code: text.slice(0, at), map };
}
