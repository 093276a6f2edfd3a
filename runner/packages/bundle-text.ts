/**
 * The text of a bundle: an expression of all that can be imported of a package, and before it, as a part of the same expression,
 * one of its main module alone, which takes less time to be evaluated.
 */

export interface BundleParts {
  /** Null: there is only `all`. */
  main: string | null;
  all: string;
}

/** In ASCII, so that the length is that of bytes as well. */
export function joinParts(main: string | null, all: string): string {
  return main === null ? all : `/*main ${main.length}*/${main}\n,\n${all}`;
}

export function splitParts(code: string): BundleParts {
  const found = /^\/\*main (\d{1,9})\*\//.exec(code);
  if (found === null) return { main: null, all: code };
  const start = found[0].length;
  const end = start + Number(found[1]);
  return { main: code.slice(start, end), all: code.slice(end + "\n,\n".length) };
}
