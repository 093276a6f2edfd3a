/**
 * Selects operations by the setting `operationFilter`. An entry is an operationId, a method and a path (`GET
 * /repos/*`, `* /repos/*`), or a tag (`tag:issues`). `*` matches any characters; a leading `!` excludes.
 */

import { ownList, ownText } from "#kernel/foreign-json.ts";
import { MAX_FILTER_ENTRIES, operationFilterSchema } from "../config.ts";
import { DocumentError } from "../failures.ts";
import type { Operation } from "./operations.ts";

interface Entry {
  excludes: boolean;
  matches(operation: Operation): boolean;
}

/**
 * Returns operations that match an including entry (or all, if there is none) and no excluding one. @throws
 * DocumentError if the filter is invalid or matches none of the document's operations
 */
export function filterOperations<T extends { operation: Operation }>(
  operations: readonly T[],
  filter: unknown,
): readonly T[] {
  if (filter === undefined) return operations;
  const parsed = operationFilterSchema.safeParse(filter);
  if (!parsed.success) {
    throw new DocumentError(
      `operationFilter: expected a list of 1 to ${MAX_FILTER_ENTRIES} texts such as "GET /repos/*", "tag:issues" or "listIssues".`,
    );
  }
  const entries = parsed.data.map(readEntry);
  const including = entries.filter(({ excludes }) => !excludes);
  const excluding = entries.filter(({ excludes }) => excludes);
  const kept = operations.filter(
    ({ operation }) =>
      (including.length === 0 || including.some((entry) => entry.matches(operation))) &&
      !excluding.some((entry) => entry.matches(operation)),
  );
  if (kept.length === 0 && operations.length > 0) {
    throw new DocumentError(
      `operationFilter leaves none of the ${operations.length} operations of the document. Entries are an operationId, "METHOD /path" or "tag:name"; * is any characters, ! before it excludes.`,
    );
  }
  return kept;
}

function readEntry(text: string): Entry {
  const excludes = text.startsWith("!");
  const pattern = excludes ? text.slice(1).trim() : text;
  if (pattern.startsWith("tag:")) {
    const tag = pattern.slice("tag:".length).trim();
    return {
      excludes,
      matches: ({ operation }) =>
        ownList(operation, "tags").some((one) => typeof one === "string" && matchesPattern(tag, one)),
    };
  }
  const [, method, path] = /^(\*|[A-Za-z]+)\s+(\/.*)$/.exec(pattern) ?? [];
  if (method !== undefined && path !== undefined) {
    const wanted = method.toLowerCase();
    return {
      excludes,
      matches: (one) => (wanted === "*" || wanted === one.method) && matchesPattern(path, one.path),
    };
  }
  return {
    excludes,
    matches: ({ operation }) => matchesPattern(pattern, ownText(operation, "operationId") ?? ""),
  };
}

/**
 * `*` matches any characters. The number of steps is bounded by the product of the lengths: only the last `*` is ever
 * retried.
 */
function matchesPattern(pattern: string, text: string): boolean {
  let at = 0;
  let starAt = -1;
  let retryFrom = 0;
  for (let place = 0; place < text.length; ) {
    if (pattern[at] === "*") {
      starAt = at;
      retryFrom = place;
      at += 1;
    } else if (at < pattern.length && pattern[at] === text[place]) {
      at += 1;
      place += 1;
    } else if (starAt !== -1) {
      at = starAt + 1;
      retryFrom += 1;
      place = retryFrom;
    } else return false;
  }
  while (pattern[at] === "*") at += 1;
  return at === pattern.length;
}
