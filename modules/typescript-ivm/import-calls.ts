/**
 * `import()` in an isolate: the library gives V8 no way to resolve a module, so V8 rejects with "Not supported". Scripts
 * are given the realm's own words instead: each call becomes a call of a hidden function whose name is as long, which keeps
 * every column where it is.
 */
import { type AnyNode, parse } from "acorn";
import { IMPORT_FUNCTION } from "./import-function-name.ts";

const HINT = /\bimport\b/;

/** `code` as runner/source prepares it. Answers it unchanged when there is no such call, or it cannot be parsed. */
export function replaceImportCalls(code: string): string {
  if (!HINT.test(code)) return code;
  let replaced = code;
  try {
    visit(parse(code, { ecmaVersion: "latest" }), (node) => {
      if (node.type !== "ImportExpression") return;
      replaced =
        replaced.slice(0, node.start) + IMPORT_FUNCTION + replaced.slice(node.start + "import".length);
    });
  } catch {
    return code;
  }
  return replaced;
}

function visit(node: AnyNode, enter: (node: AnyNode) => void): void {
  enter(node);
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child?.type === "string") visit(child, enter);
    }
  }
}
