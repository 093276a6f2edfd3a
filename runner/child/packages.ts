/**
 * The packages of one run in its embedder: compiled in the script's context when the realm asks for them, and taken for an
 * expression only. What they are evaluates to a function of that context, which has what the script has.
 */
import type { PackageParts } from "../wire/frames.ts";

/** What compiles in the script's context. `isCached`: the code cache was taken. Throws where it is no JavaScript. */
export interface PackageCompiler {
  /** Parses, and evaluates nothing. */
  parse(source: string): void;
  /** `evaluate` answers the completion value. */
  compile(
    digest: string,
    source: string,
    name: string,
    cache: Buffer | null,
  ): { isCached: boolean; evaluate(): unknown };
}

const PACKAGE_NAME = "cyrnel:package/";

/**
 * Answers what the realm asks for: `code <digest>` with the function that the package is, or a text that says why there is none;
 * `mappings <digest>` with a text.
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
    // What closes one kind of bracket does not close the other: so it is one expression, in whatever brackets.
    if (!compiled.isCached) compiler.parse(`[${source.slice(1, -1)}]`);
    return compiled.evaluate();
  } catch (error) {
    return `it is no JavaScript: ${String((error as Error).message).slice(0, 200)}`;
  }
}
