import { quoteForeign } from "#modules/shared/failures.ts";

const MAX_FAILURE_CHARACTERS = 2000;

export type Cut = (text: string, maxCharacters: number) => string;

/** Returns a message of 1 to 2000 characters for any thrown value, without its stack. */
export function readFailure(error: unknown, cut: Cut = (text, max) => text.slice(0, max)): string {
  const text = cut(quoteForeign(readText(error)), MAX_FAILURE_CHARACTERS);
  const shown = text.length < MAX_FAILURE_CHARACTERS ? text : `${text.slice(0, -3)}...`;
  return shown.toWellFormed() || "It gave no reason.";
}

function readText(error: unknown): string {
  try {
    const message = error instanceof Error ? error.message : error;
    return typeof message === "string" ? message : String(message);
  } catch {
    return "";
  }
}
