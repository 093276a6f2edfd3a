/**
 * What a reference inside a document (`#`, `#/$defs/name`) points to: own members only. Undefined where it points to
 * nothing, or out of the document. RFC 6901, section 6.
 */
export function resolveReference(root: unknown, reference: string): unknown {
  if (reference !== "#" && !reference.startsWith("#/")) return undefined;
  let node = root;
  for (const segment of reference.split("/").slice(1)) {
    const name = decode(segment);
    if (name === null || node === null || typeof node !== "object" || !Object.hasOwn(node, name))
      return undefined;
    node = (node as Record<string, unknown>)[name];
  }
  return node;
}

function decode(segment: string): string | null {
  try {
    return decodeURIComponent(segment).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return null;
  }
}
