/** What a run is given as its input, and the schema it has to fit: bounded here, as both may be hostile, and checked by a port. */
import { AppError } from "#api/errors.ts";
import type { StrictChecks } from "#api/tools/validation/strict-checks.ts";
import { writeInput } from "#kernel/input.ts";
import { type JSONSchema, mayHoldLargeInteger } from "#sdk";
import type { StoredInput } from "../model/records.ts";

const MAX_SCHEMA_CHARACTERS = 64 * 1024;

/**
 * The JSON text of what is to be stored. `input` undefined: none. Checks of one `caller` wait for each other. Throws
 * invalid_request, and limit_reached when too much waits.
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
      // Without an input only the schema was of interest.
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

/** The nearest numbers in place of large integers: a validator knows no others. */
function toPlain<T>(data: T, text: string | null): T {
  return text !== null && mayHoldLargeInteger(text) ? JSON.parse(text) : data;
}

/** `message` goes on after the name of the field. */
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
