/**
 * A bundle's text is one expression: the table of all exports, preceded by the main module alone, which is evaluated
 * faster.
 */

export interface BundleParts {
  main: string | null;
  all: string;
}

/** `main` and `all` are ASCII, so character positions are byte positions. */
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
