/** What foreign code says when it fails, made safe to store and to show. */
import { quoteForeign } from "#modules/shared/failures.ts";

/** A message of 1 to 2000 characters for anything that was thrown; never a stack. */
export function readFailure(error: unknown): string {
  return quoteForeign(readText(error)) || "It gave no reason.";
}

function readText(error: unknown): string {
  try {
    const message = error instanceof Error ? error.message : error;
    return typeof message === "string" ? message : String(message);
  } catch {
    return "";
  }
}
