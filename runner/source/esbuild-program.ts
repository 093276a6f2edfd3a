/** esbuild's own program, run for one source: where it is, how it is told what its service is told, and what it answers. */
import { join } from "node:path";
import { findPackage } from "../find-package.ts";
import { TRANSFORM_OPTIONS } from "./transform-options.ts";

/** Code and a source map, as the service answers them. */
export interface Transformed {
  code: string;
  map: string;
}

/** Of code and map. Many times what the largest source becomes. */
export const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** Bytes for one run: about twice what a source of that length takes that is not nested deeply; one that is would take gigabytes. */
export function memoryFor(source: string): bigint {
  return BigInt(128 * 1024 * 1024 + 400 * source.length);
}

const MAP_START = "//# sourceMappingURL=data:application/json;base64,";

/** Null where it is not installed for this platform. */
export function findEsbuild(): string | null {
  const folder = findPackage(`@esbuild/${process.platform}-${process.arch}`);
  return folder === null ? null : join(folder, "bin/esbuild");
}

/** For a source on standard input, whose code and map are to come out at standard output. */
export function listFlags(loader: "ts" | "tsx"): string[] {
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

/** What came out. The map comes after the code, whose own text may have looked like one. Null: there is none. */
export function splitOutput(text: string): Transformed | null {
  const at = text.lastIndexOf(MAP_START);
  if (at < 0) return null;
  const map = Buffer.from(text.slice(at + MAP_START.length), "base64").toString();
  return { code: text.slice(0, at), map };
}
