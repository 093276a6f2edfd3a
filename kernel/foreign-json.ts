import { isJsonObject } from "../sdk/exact-json.ts";

export type Fields = Record<string, unknown>;

export const isRecord: (value: unknown) => value is Fields = isJsonObject;

export function own(value: unknown, key: string): unknown {
  return isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

export function ownRecord(value: unknown, key: string): Fields | undefined {
  const found = own(value, key);
  return isRecord(found) ? found : undefined;
}

export function ownText(value: unknown, key: string): string | undefined {
  const found = own(value, key);
  return typeof found === "string" ? found : undefined;
}

export function ownList(value: unknown, key: string): unknown[] {
  const found = own(value, key);
  return Array.isArray(found) ? found : [];
}

/** Returns the members whose value is not undefined. */
export function defined<T extends Fields>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}

/**
 * Follows a reference inside a document (`#`, `#/$defs/name`; RFC 6901, section 6). Returns undefined if its target
 * is missing or outside the document.
 */
export function resolveReference(root: unknown, reference: string): unknown {
  if (reference !== "#" && !reference.startsWith("#/")) return undefined;
  let node = root;
  for (const segment of reference.split("/").slice(1)) {
    const name = decode(segment);
    if (name === null || node === null || typeof node !== "object" || !Object.hasOwn(node, name))
      return undefined;
    node = (node as Fields)[name];
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
