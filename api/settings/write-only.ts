/** Settings whose values go in and never come out: what may be said about them, and which patches would tell a value. */
import { AppError } from "../errors.ts";
import type { PatchOperation } from "./patch-model.ts";

/** JSON pointers of every value; an empty object counts as one. */
export function listPointers(value: unknown, pointer = ""): string[] {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return [pointer];
  const entries = Object.entries(value);
  if (entries.length === 0) return pointer === "" ? [] : [pointer];
  return entries.flatMap(([key, inner]) =>
    listPointers(inner, `${pointer}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`),
  );
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
