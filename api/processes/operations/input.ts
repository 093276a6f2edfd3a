/**
 * Validates a run's input and its schema. Both may be hostile, so sizes are limited here; the validation itself is a
 * port.
 */
import { AppError } from "#api/errors.ts";
import type { StrictChecks } from "#api/tools/validation/strict-checks.ts";
import { writeInput } from "#kernel/input.ts";
import { type JSONSchema, mayHoldLargeInteger } from "#sdk";
import type { StoredInput } from "../model/records.ts";

const MAX_SCHEMA_CHARACTERS = 64 * 1024;

/**
 * Returns the input as JSON text to store; `undefined` means no input. Checks of one `caller` run one at a time.
 * Throws invalid_request, or limit_reached if too many checks wait.
 */
export async function checkInput(
  checks: Pick<StrictChecks, "check">,
  caller: string,
  input: unknown,
  schema: JSONSchema | null,
): Promise<StoredInput> {
  const written = input === undefined ? null : writeInput(input);
  if (written !== null && "problem" in written) throw refuseInput("input", written.problem);
  const text = written?.text ?? null;
  if (schema === null) return { input: text, inputSchema: null };
  const inputSchema = JSON.stringify(schema);
  if (inputSchema.length > MAX_SCHEMA_CHARACTERS) {
    const found = `must be at most ${MAX_SCHEMA_CHARACTERS} characters of JSON text; found ${inputSchema.length}.`;
    throw refuseInput("inputSchema", found);
  }
  const outcome = await checks.check(caller, toPlain(schema, inputSchema), toPlain(input, text));
  switch (outcome.kind) {
    case "busy":
      throw new AppError("limit_reached", outcome.message);
    case "timeout":
      throw refuseInput("input", `could not be checked against inputSchema. ${outcome.message}`);
    case "unusable":
      throw refuseInput("inputSchema", `cannot be used: ${outcome.message}`);
    case "invalid":
      // Without an input, only the schema is validated.
      if (input === undefined) break;
      throw refuseIssues(
        outcome.issues.map(({ path, message }) => ({
          path: path.replace(/^parameters/, "body.input"),
          message,
        })),
      );
  }
  return { input: text, inputSchema };
}

/** Replaces large integers with the nearest numbers, because validators support no others. */
function toPlain<T>(data: T, text: string | null): T {
  return text !== null && mayHoldLargeInteger(text) ? JSON.parse(text) : data;
}

/** `message` continues a sentence that starts with the field name. */
export function refuseInput(field: "input" | "inputSchema", message: string): AppError {
  return refuseIssues([{ path: `body.${field}`, message }]);
}

function refuseIssues(issues: { path: string; message: string }[]): AppError {
  const [first] = issues;
  const rest = issues.length > 1 ? ` (and ${issues.length - 1} more)` : "";
  return new AppError(
    "invalid_request",
    `The request is not valid: ${first?.path}: ${first?.message}${rest}`,
    { issues },
  );
}
