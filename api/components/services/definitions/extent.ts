/**
 * How large a value is as JSON, found out before it is written: parts that are shared count each time they occur, so
 * that a small object graph which would be an endless text is refused while it is still small.
 */

export interface ExtentLimits {
  maxCharacters: number;
  maxDepth: number;
}

export type Extent = { ok: true; characters: number } | { ok: false; problem: string };

/** About as many characters as `JSON.stringify` would make. Stops at the limits. */
export function measureJson(value: unknown, limits: ExtentLimits): Extent {
  let left = limits.maxCharacters;
  let problem: string | null = null;

  function visit(node: unknown, depth: number): boolean {
    left -= 2;
    if (typeof node === "string") left -= node.length;
    else if (typeof node === "bigint") problem = "holds a bigint, which is no JSON";
    else if (node !== null && typeof node === "object") {
      if (depth >= limits.maxDepth) problem = `is nested deeper than ${limits.maxDepth} levels, or in itself`;
      else if (Array.isArray(node)) return node.every((element) => visit(element, depth + 1));
      else {
        for (const key in node) {
          left -= key.length + 4;
          if (left < 0 || !visit((node as Record<string, unknown>)[key], depth + 1)) return stop();
        }
      }
    } else left -= 6;
    return problem === null && left >= 0 ? true : stop();
  }

  function stop(): false {
    problem ??= `would be more than ${limits.maxCharacters} characters of JSON`;
    return false;
  }

  return visit(value, 0)
    ? { ok: true, characters: limits.maxCharacters - left }
    : { ok: false, problem: problem ?? "is no JSON" };
}
