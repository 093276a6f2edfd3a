/**
 * What a run is given as its input, and the schema it has to fit. Both are hostile: they are bounded here, and checked in
 * a thread with limits of time and memory.
 */
import { createHash } from "node:crypto";
import { AppError } from "#api/errors.ts";
import { createCheckingThread } from "#api/tools/validation/checking-thread.ts";
import { readSchema } from "#api/tools/validation/readable-schema.ts";
import { writeInput } from "#runner/input.ts";
import type { JSONSchema } from "#sdk";
import type { StoredInput } from "../model/records.ts";

const MAX_SCHEMA_CHARACTERS = 64 * 1024;

export interface InputChecks extends AsyncDisposable {
  /**
   * The JSON text of what is to be stored. `input` undefined: none. Schemas of one `caller` wait for each other. Throws
   * invalid_request, and limit_reached when too much waits.
   */
  check(caller: string, input: unknown, schema: JSONSchema | null): Promise<StoredInput>;
}

export function createInputChecks(): InputChecks {
  const thread = createCheckingThread(true);

  async function checkFit(caller: string, input: unknown, source: JSONSchema, text: string): Promise<void> {
    const { schema, unread } = readSchema(source);
    if (unread !== null) throw refuseInput("inputSchema", `cannot be used: ${unread}`);
    const hash = createHash("sha256").update(text).digest("hex");
    const data = input as Record<string, unknown>;
    const outcome = await thread.check(caller, hash, JSON.stringify(schema), data);
    switch (outcome.kind) {
      case "checked":
        // Without an input only the schema was of interest.
        if (outcome.issues.length === 0 || input === undefined) return;
        throw refuseIssues(
          outcome.issues.map(({ path, message }) => ({
            path: path.replace(/^parameters/, "body.input"),
            message,
          })),
        );
      case "busy":
        throw new AppError("limit_reached", "Too many inputs wait to be checked. Try again shortly.");
      case "timeout":
        throw refuseInput("input", `could not be checked against inputSchema within ${outcome.maxMs} ms.`);
      case "failed":
        throw refuseInput("inputSchema", `cannot be used: ${outcome.message.slice(0, 300)}`);
    }
  }

  return {
    async check(caller, input, schema) {
      const written = input === undefined ? null : writeInput(input);
      if (written !== null && "problem" in written) throw refuseInput("input", written.problem);
      const text = schema === null ? null : JSON.stringify(schema);
      if (text !== null && text.length > MAX_SCHEMA_CHARACTERS) {
        const found = `must be at most ${MAX_SCHEMA_CHARACTERS} characters of JSON text; found ${text.length}.`;
        throw refuseInput("inputSchema", found);
      }
      if (schema !== null && text !== null) await checkFit(caller, input, schema, text);
      return { input: written?.text ?? null, inputSchema: text };
    },
    [Symbol.asyncDispose]: () => thread[Symbol.asyncDispose](),
  };
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
