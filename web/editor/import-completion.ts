/** Completes package imports: the package, the names in braces, and members of namespace imports. */
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import type { Exported, PackageTypes } from "./packages.ts";

const VALID = /^[\w$]*$/;
const SPECIFIER = /(?:\bfrom|\bimport)\s*\(?\s*["']([^"'\n]*)$/;
const IN_BRACES = /\bimport\s+(?:type\s+)?(?:[\w$]+\s*,\s*)?\{[^}]*$/;
const AFTER_BRACES = /^[^}]*\}\s*from\s*["']([^"'\n]+)["']/;
const MEMBER = /(?:^|[^\w$.])([A-Za-z_$][\w$]*)\s*\.\s*[\w$]*$/;
const IMPORT =
  /\bimport\s+(?:([A-Za-z_$][\w$]*)\s*,?\s*)?(?:\*\s*as\s+([A-Za-z_$][\w$]*)|\{([^}]*)\})?\s*from\s*["']([^"'\n]+)["']/g;
/** Maximum distance before the cursor at which an import may begin. */
const MAX_CHARACTERS = 2000;

/** Returns null if the cursor is not in an import or at an imported name. */
export async function completeImports(
  context: CompletionContext,
  load: () => Promise<PackageTypes>,
): Promise<CompletionResult | null> {
  const { state, pos } = context;
  const before = state.sliceDoc(Math.max(0, pos - MAX_CHARACTERS), pos);
  const specifier = SPECIFIER.exec(before)?.[1];
  if (specifier !== undefined) {
    const options = (await load()).specifiers().map((label): Completion => ({ label, type: "namespace" }));
    return { from: pos - specifier.length, validFor: /^[\w@/.:-]*$/, options };
  }
  const from = context.matchBefore(/[\w$]*$/)?.from ?? pos;
  const source = IN_BRACES.test(before)
    ? AFTER_BRACES.exec(state.sliceDoc(pos, pos + MAX_CHARACTERS))?.[1]
    : undefined;
  if (source !== undefined) return answer(from, await (await load()).exportsOf(source));
  const name = MEMBER.exec(before)?.[1];
  const imported = name === undefined ? null : findImported(state.sliceDoc(), name);
  if (imported === null) return null;
  return answer(from, await (await load()).membersOf(imported.specifier, imported.name));
}

function answer(from: number, members: readonly Exported[]): CompletionResult | null {
  if (members.length === 0) return null;
  const options = members.map(({ name, kind, detail }): Completion => ({ label: name, type: kind, detail }));
  return { from, validFor: VALID, options };
}

/** Returns the package and export from which the script imported a name. */
function findImported(text: string, local: string): { specifier: string; name: string } | null {
  for (const [, whole, all, list = "", specifier = ""] of text.matchAll(IMPORT)) {
    if (local === all) return { specifier, name: "*" };
    if (local === whole) return { specifier, name: "default" };
    for (const item of list.split(",")) {
      const [, name = "", as = name] = /^\s*([\w$]+)(?:\s+as\s+([\w$]+))?\s*$/.exec(item) ?? [];
      if (as === local && name !== "") return { specifier, name };
    }
  }
  return null;
}
