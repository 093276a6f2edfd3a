import { type Refused, sourceError } from "../errors.ts";
import type { Node } from "./linkable.ts";
import { quote } from "./names.ts";

/** Each step takes a tenth of a microsecond. */
const MAX_EXPORT_STEPS = 500_000;

/** Skips unused imported names, which may be types. `keysOf` has the names that JSON files export. */
export function checkNames(
  nodes: readonly Node[],
  keysOf: ReadonlyMap<Node, ReadonlySet<string>>,
  fileOf: (node: Node) => string | undefined,
): Refused | null {
  let steps = 0;
  const has = (index: number, name: string, seen: Set<number>): boolean => {
    // Over the limit the result no longer matters: the graph is rejected.
    if (++steps > MAX_EXPORT_STEPS) return true;
    if (seen.has(index)) return false;
    seen.add(index);
    const node = nodes[index] as Node;
    const { kind, linkable, targets } = node;
    if (kind !== "code" || linkable === null)
      return name === "default" || keysOf.get(node)?.has(name) === true;
    if (linkable.exports.has(name)) return true;
    if (name === "default") return false;
    return linkable.stars.some((star) => {
      const target = targets[star];
      return typeof target === "number" ? has(target, name, seen) : true;
    });
  };
  const known = new Map<string, boolean>();
  const exportsName = (index: number, name: string): boolean => {
    const key = `${index} ${name}`;
    const answer = known.get(key) ?? has(index, name, new Set());
    known.set(key, answer);
    return answer;
  };
  for (const node of nodes) {
    for (const [index, { names, position, specifier }] of node.linkable?.imports.entries() ?? []) {
      const target = node.targets[index];
      if (typeof target !== "number") continue;
      const missing = names.find((name) => !exportsName(target, name));
      if (steps > MAX_EXPORT_STEPS)
        return sourceError("The files re-export each other too often.", position, fileOf(node));
      if (missing === undefined) continue;
      const { name } = nodes[target] as Node;
      const message =
        missing === "default"
          ? `${name} has no default export: import what it exports by name, as in import { x } from ${quote(specifier)}.`
          : `${name} has no export named ${quote(missing)}.`;
      return sourceError(message, position, fileOf(node));
    }
  }
  return null;
}
