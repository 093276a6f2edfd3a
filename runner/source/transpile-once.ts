/**
 * One source, transpiled by a run of esbuild's program. Its service, which is quicker for every further source, takes longer
 * to be ready than this to be done.
 */
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { TRANSFORM_OPTIONS } from "./transform-options.ts";

/** Code and a source map, as the service answers them. */
export interface Transformed {
  code: string;
  map: string;
}

const MAP_START = "//# sourceMappingURL=data:application/json;base64,";
/** Of code and map. Many times what the largest source becomes. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** Null where it cannot be had this way, for whatever reason: the service then says it. Gives up after `maxMs`. */
export function transformOnce(
  source: string,
  loader: "ts" | "tsx",
  maxMs: number,
): Promise<Transformed | null> {
  const program = findProgram();
  if (program === null) return Promise.resolve(null);
  const { promise, resolve } = Promise.withResolvers<Transformed | null>();
  const child = spawn(program, listFlags(loader), {
    // One source has nothing to be done side by side.
    env: { GOMAXPROCS: "1" },
    stdio: ["pipe", "pipe", "ignore"],
    timeout: maxMs,
    killSignal: "SIGKILL",
  });
  const chunks: Buffer[] = [];
  let bytes = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_OUTPUT_BYTES) child.kill("SIGKILL");
  });
  child.on("error", () => resolve(null));
  child.on("close", (code) => resolve(code === 0 ? split(Buffer.concat(chunks).toString("latin1")) : null));
  child.stdin.on("error", () => {});
  child.stdin.end(source);
  return promise;
}

function findProgram(): string | null {
  try {
    return createRequire(import.meta.filename).resolve(
      `@esbuild/${process.platform}-${process.arch}/bin/esbuild`,
    );
  } catch {
    return null;
  }
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

/** The code is ASCII, and the map comes after it. */
function split(text: string): Transformed | null {
  const at = text.lastIndexOf(MAP_START);
  if (at < 0) return null;
  const map = Buffer.from(text.slice(at + MAP_START.length), "base64").toString();
  return { code: text.slice(0, at), map };
}
