/**
 * Packages of one run in its embedder. Each is compiled in the script's context when the realm asks for it, as an expression and
 * nothing else. It evaluates to a function of that context, which has what the script has.
 */
import type { PackageParts } from "../wire/frames.ts";

/** Compiles in the script's context. `isCached` says that V8 took the code cache. @throws if it is not JavaScript. */
export interface PackageCompiler {
  /** Parses without evaluating. */
  parse(source: string): void;
  /** `evaluate` returns the completion value. */
  compile(
    digest: string,
    source: string,
    name: string,
    cache: Buffer | null,
  ): { isCached: boolean; evaluate(): unknown };
}

const PACKAGE_NAME = "cyrnel:package/";

/** Replies to `code <digest>` with the package's function, or a text that says why there is none, and to `mappings <digest>` with a text. */
export function openPackage(
  given: ReadonlyMap<string, PackageParts>,
  text: string,
  compiler: PackageCompiler,
): unknown {
  const [what, digest = ""] = text.split(" ");
  const parts = given.get(digest);
  if (parts === undefined) return "it did not come with this run";
  if (what === "mappings") return parts.mappings.toString();
  const source = parts.source.toString(parts.isWide ? "utf16le" : "latin1");
  try {
    const cache = parts.cache.length > 0 ? parts.cache : null;
    const compiled = compiler.compile(digest, source, PACKAGE_NAME + digest, cache);
    // Text that closes one kind of bracket does not close the other, so code that parses in both is one expression.
    if (!compiled.isCached) compiler.parse(`[${source.slice(1, -1)}]`);
    return compiled.evaluate();
  } catch (error) {
    return `it is no JavaScript: ${String((error as Error).message).slice(0, 200)}`;
  }
}
