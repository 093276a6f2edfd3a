/**
 * Packages of one run in its embedder. When the realm asks for a package, it is compiled in the script's context as
 * an expression. It evaluates to a function of that context, which can do no more than the script.
 */
import type { PackageParts } from "../wire/frames.ts";

/**
 * Compiles in the script's context. `isCached` is true if V8 accepted the code cache. @throws if the source is not
 * JavaScript
 */
export interface PackageCompiler {
  parse(source: string): void;
  compile(
    digest: string,
    source: string,
    name: string,
    cache: Buffer | null,
  ): { isCached: boolean; evaluate(): unknown };
}

const PACKAGE_NAME = "cyrnel:package/";

/**
 * Handles `code <digest>` by returning the package's function, or a string that says why it is missing, and `mappings
 * <digest>` by returning text.
 */
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
    // Text that closes one kind of bracket does not close the other, so code that parses in both is a single
    // expression.
    if (!compiled.isCached) compiler.parse(`[${source.slice(1, -1)}]`);
    return compiled.evaluate();
  } catch (error) {
    return `it is no JavaScript: ${String((error as Error).message).slice(0, 200)}`;
  }
}
