/** Applies JSON Patches (RFC 6902) to a copy of the settings, either completely or not at all, with a size limit. */

import { randomUUID } from "node:crypto";
import jsonPatch, { type JsonPatchError, type Operation } from "fast-json-patch";
import { AppError } from "#api/errors.ts";
import { type PatchOperation, splitPointer } from "./patch-model.ts";
import { type Config, MODULE_CONFIG, type SettingsSubject } from "./schema.ts";

export const SETTINGS_LIMITS = { maxConfigBytes: 64 * 1024 } as const;

/**
 * Throws AppError `precondition_failed` if a `test` fails, `invalid_request` if an operation cannot be applied or the
 * result is too large or not an object.
 */
export function patchConfig(
  config: Config,
  operations: readonly PatchOperation[],
  subject: SettingsSubject = MODULE_CONFIG,
): Config {
  let document: unknown = structuredClone(config);
  for (const [index, operation] of operations.entries()) {
    document = applyOperation(document, operation, index, subject);
    // Check after each operation, because every copy in a chain doubles the document.
    if (Buffer.byteLength(JSON.stringify(document) ?? "") > SETTINGS_LIMITS.maxConfigBytes) {
      throw refusePatch(
        index,
        `the ${subject.noun} would be larger than ${SETTINGS_LIMITS.maxConfigBytes} bytes`,
      );
    }
  }
  if (document === null || typeof document !== "object" || Array.isArray(document)) {
    throw refusePatch(operations.length - 1, `the ${subject.noun} would no longer be an object`);
  }
  return document as Config;
}

function applyOperation(
  document: unknown,
  operation: PatchOperation,
  index: number,
  subject: SettingsSubject,
): unknown {
  for (const path of "from" in operation ? [operation.from, operation.path] : [operation.path]) {
    if (namesNoElement(document, path)) throw refusePatch(index, ARRAY_INDEX_PROBLEM);
  }
  if (
    operation.op === "move" &&
    operation.path !== operation.from &&
    operation.path.startsWith(`${operation.from}/`)
  ) {
    throw refusePatch(index, "a value cannot be moved into itself");
  }
  try {
    return jsonPatch.applyOperation(document, operation as Operation, true, true, true, index).newDocument;
  } catch (error) {
    const name = (error as JsonPatchError).name;
    if (name === "TEST_OPERATION_FAILED") {
      throw new AppError(
        "precondition_failed",
        `The ${subject.noun} is not what operation ${index} of the patch tests for. Read it again, then decide.`,
        { issues: [{ path: `body.${index}`, message: "the test does not hold" }] },
      );
    }
    throw refusePatch(index, PATCH_PROBLEMS[name] ?? "the operation cannot be applied at this path");
  }
}

const ARRAY_INDEX_PROBLEM = "an array element is named by its index, or by - for the end";

/** Returns true if a pointer uses something other than an index on an array. The library reads -1 as 4294967295. */
function namesNoElement(document: unknown, path: string): boolean {
  let node = document;
  for (const segment of splitPointer(path)) {
    if (Array.isArray(node)) {
      if (segment !== "-" && (!/^(?:0|[1-9]\d{0,6})$/.test(segment) || Number(segment) > node.length))
        return true;
    }
    if (node === null || typeof node !== "object" || !Object.hasOwn(node, segment)) return false;
    node = (node as Record<string, unknown>)[segment];
  }
  return false;
}

const PATCH_PROBLEMS: Record<string, string> = {
  OPERATION_PATH_UNRESOLVABLE: 'there is no value at the path; use "add" to make one',
  OPERATION_FROM_UNRESOLVABLE: 'there is no value at "from"',
  OPERATION_PATH_CANNOT_ADD: "the parent of the path does not exist; add it first",
  OPERATION_PATH_ILLEGAL_ARRAY_INDEX: ARRAY_INDEX_PROBLEM,
  OPERATION_VALUE_OUT_OF_BOUNDS: "the array has no such index",
};

function refusePatch(index: number, problem: string): AppError {
  return new AppError("invalid_request", `Operation ${index} of the patch cannot be applied: ${problem}.`, {
    issues: [{ path: `body.${index}`, message: problem }],
  });
}

export function listPointers(value: unknown, pointer = ""): string[] {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return [pointer];
  const entries = Object.entries(value);
  if (entries.length === 0) return pointer === "" ? [] : [pointer];
  return entries.flatMap(([key, inner]) =>
    listPointers(inner, `${pointer}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`),
  );
}

export function divide(values: Config, names: readonly string[]): [Config, Config] {
  const entries = Object.entries(values);
  const isNamed = ([name]: [string, unknown]) => names.includes(name);
  return [
    Object.fromEntries(entries.filter(isNamed)),
    Object.fromEntries(entries.filter((entry) => !isNamed(entry))),
  ];
}

/**
 * Applies a patch that must replace or remove every value in `outdated`. Placeholders replace these values first, so
 * the patch cannot keep them. `refuse` gets the pointers that still contain a placeholder.
 */
export function patchAnew(
  values: Config,
  outdated: readonly string[],
  operations: readonly PatchOperation[],
  subject: SettingsSubject,
  refuse: (kept: string[]) => Error,
): Config {
  const mark = randomUUID();
  const [old, others] = divide(values, outdated);
  const patched = patchConfig({ ...others, ...(markAll(old, mark) as Config) }, operations, subject);
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

const READING = {
  test: "would tell what they are. Use If-Match to see whether another caller changed them",
  copy: "would send one where another goes. Add the value itself",
  move: "would send one where another goes. Remove it, and add the value itself",
} as const;

/** A caller that may only write secrets must not be able to guess a secret or move it to another destination. */
export function refuseReading(operations: readonly PatchOperation[]): void {
  for (const [index, { op }] of operations.entries()) {
    if (op !== "test" && op !== "copy" && op !== "move") continue;
    throw new AppError(
      "invalid_request",
      `Operation ${index} of the patch cannot be applied: secrets are write-only, "${op}" ${READING[op]}.`,
      { issues: [{ path: `body.${index}.op`, message: `"${op}" is not possible on secrets` }] },
    );
  }
}
