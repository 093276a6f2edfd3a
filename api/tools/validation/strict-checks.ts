/**
 * Validates data against a schema when both may be hostile. Always runs in a thread with time and memory limits,
 * never checks only part of a schema, and fills in no defaults.
 */
import { createHash } from "node:crypto";
import type { JSONSchema } from "#sdk";
import { createCheckingThread } from "./checking-thread.ts";
import { readSchema } from "./readable-schema.ts";
import type { CheckOutcome } from "./validator.ts";

/** If an outcome has no issues, its `message` is a complete sentence. */
export type StrictOutcome = { kind: "valid" } | Exclude<CheckOutcome, { kind: "valid" }>;

export interface StrictChecks extends AsyncDisposable {
  /**
   * Checks of one `caller` wait for each other. A schema that cannot be checked completely is `unusable`. Never
   * rejects.
   */
  check(caller: string, schema: JSONSchema, data: unknown): Promise<StrictOutcome>;
}

export function createStrictChecks(): StrictChecks {
  const thread = createCheckingThread();
  return {
    async check(caller, source, data) {
      const { schema, unread } = readSchema(source);
      if (unread !== null) return { kind: "unusable", message: unread };
      const text = JSON.stringify(schema);
      const hash = createHash("sha256").update(text).digest("hex");
      const outcome = await thread.check(caller, hash, text, data as Record<string, unknown>, "strict");
      switch (outcome.kind) {
        case "checked":
          return outcome.issues.length === 0
            ? { kind: "valid" }
            : { kind: "invalid", issues: outcome.issues };
        case "busy":
          return { kind: "busy", message: "Too many inputs wait to be checked. Try again shortly." };
        case "timeout":
          return { kind: "timeout", message: `Validation did not finish within ${outcome.maxMs} ms.` };
        case "failed":
          return { kind: "unusable", message: outcome.message.slice(0, 300) };
      }
    },
    [Symbol.asyncDispose]: () => thread[Symbol.asyncDispose](),
  };
}
