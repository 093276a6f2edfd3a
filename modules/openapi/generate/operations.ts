import { type Fields, isRecord, own, ownRecord, ownText } from "#kernel/foreign-json.ts";
import { DocumentError } from "../failures.ts";
import type { References } from "./schemas/references.ts";

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"] as const;
const HARMLESS = new Set(["get", "head", "options", "trace", "query"]);
const MAX_OPERATIONS = 20_000;
const MAX_ID_CHARS = 100;

const RESERVED_IDS = new Set([
  ...Object.getOwnPropertyNames(Object.prototype),
  "then",
  "toJSON",
  "prototype",
  "arguments",
  "caller",
]);

export interface Operation {
  method: string;
  path: string;
  item: Fields;
  operation: Fields;
}

/**
 * Lists the document's operations, possibly none. Those on an unreadable path become a problem. @throws DocumentError
 * if `paths` is missing or has too many operations
 */
export function listOperations(document: Fields, references: References, problems: string[]): Operation[] {
  if (!["paths", "webhooks", "components"].some((key) => isRecord(own(document, key)))) {
    throw new DocumentError("The document describes no API: it has no paths.");
  }
  const operations: Operation[] = [];
  for (const [path, value] of Object.entries(ownRecord(document, "paths") ?? {})) {
    if (path.startsWith("x-")) continue;
    const item = followPath(path, value, references, problems);
    if (item === undefined) continue;
    for (const [key, operation] of Object.entries(item)) {
      const method = key.toLowerCase();
      if (!METHODS.some((known) => known === method) || !isRecord(operation)) continue;
      operations.push({ method, path, item, operation });
    }
    if (operations.length > MAX_OPERATIONS) {
      throw new DocumentError(`The document has more than ${MAX_OPERATIONS} operations. Leave some out.`);
    }
  }
  return operations;
}

function followPath(
  path: string,
  value: unknown,
  references: References,
  problems: string[],
): Fields | undefined {
  try {
    return references.follow(value);
  } catch (error) {
    problems.push(`The path ${path} is left out. ${(error as Error).message}`);
    return undefined;
  }
}

export function isDestructive({ method, operation }: Operation): boolean {
  const declared = own(operation, "x-destructive");
  return typeof declared === "boolean" ? declared : !HARMLESS.has(method);
}

/**
 * Uses the operation's own id, or one made from its method and path. Appends the next free number if the id is taken.
 */
export function createIds(): (operation: Operation) => string {
  const taken = new Set<string>();
  const nextNumbers = new Map<string, number>();
  return ({ method, path, operation }) => {
    const wanted = toIdentifier(ownText(operation, "operationId") ?? "");
    const base = wanted === "" ? toIdentifier(`${method} ${path}`) || method : wanted;
    let id = RESERVED_IDS.has(base) ? `${base}_` : base;
    let number = nextNumbers.get(base) ?? 2;
    for (; taken.has(id); number += 1) id = `${base}_${number}`;
    nextNumbers.set(base, number);
    taken.add(id);
    return id;
  };
}

/** Keeps letters, digits, `_` and `$`; each run of other characters becomes one `_`. May return an empty string. */
function toIdentifier(text: string): string {
  const words = text
    .normalize("NFKD")
    .replace(/\p{Mark}+/gu, "")
    .replace(/[^A-Za-z0-9_$]+/g, "_");
  const trimmed = /^[A-Za-z0-9_$]/.test(text) ? words.replace(/_+$/, "") : words.replace(/^_+|_+$/g, "");
  const kept = (trimmed === "" && /[A-Za-z0-9$]/.test(words) ? words : trimmed).slice(0, MAX_ID_CHARS);
  return /^[0-9]/.test(kept) ? `_${kept}` : kept;
}
