/** Settings whose values go in and never come out: what may be said about them, and which patches would tell a value. */
import { randomUUID } from "node:crypto";
import { AppError } from "#api/errors.ts";
import { patchConfig } from "./patch.ts";
import { type PatchOperation, splitPointer } from "./patch-model.ts";
import type { Config, SettingsSubject } from "./schema.ts";

/** JSON pointers of every value; an empty object counts as one. */
export function listPointers(value: unknown, pointer = ""): string[] {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return [pointer];
  const entries = Object.entries(value);
  if (entries.length === 0) return pointer === "" ? [] : [pointer];
  return entries.flatMap(([key, inner]) =>
    listPointers(inner, `${pointer}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`),
  );
}

/**
 * The outcome of a patch that must leave nothing of what was there. The values of before are replaced by marks first: a
 * patch can neither keep them nor copy them to another place. Throws AppError `invalid_request`, naming what it keeps.
 */
export function patchAnew(
  values: Config,
  operations: readonly PatchOperation[],
  subject: SettingsSubject,
  refuse: (kept: string[]) => Error,
): Config {
  const mark = randomUUID();
  const patched = patchConfig(markAll(values, mark) as Config, operations, subject);
  const kept = listPointers(patched).filter((pointer) =>
    JSON.stringify(valueAt(patched, pointer)).includes(mark),
  );
  if (kept.length > 0) throw refuse(kept.sort());
  return patched;
}

function markAll(value: unknown, mark: string): unknown {
  if (value === null || typeof value !== "object") return mark;
  if (Array.isArray(value)) return value.map((inner) => markAll(inner, mark));
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, markAll(inner, mark)]));
}

function valueAt(value: unknown, pointer: string): unknown {
  return splitPointer(pointer).reduce((node, segment) => (node as Config)[segment], value);
}

/** A `test` that holds says what a secret is: whoever may write them could find one out by trying. */
export function refuseTests(operations: readonly PatchOperation[]): void {
  const index = operations.findIndex((operation) => operation.op === "test");
  if (index === -1) return;
  throw new AppError(
    "invalid_request",
    `Operation ${index} of the patch cannot be applied: secrets are write-only, "test" would tell what they are. Use If-Match to see whether somebody else changed them.`,
    { issues: [{ path: `body.${index}.op`, message: '"test" is not possible on secrets' }] },
  );
}
