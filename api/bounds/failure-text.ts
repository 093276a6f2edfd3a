/** What foreign code says when it fails, made safe to store and to show. */

const MAX_FAILURE_CHARACTERS = 2000;

/** A message of 1 to 2000 characters for anything that was thrown; never a stack. */
export function readFailure(error: unknown): string {
  const text = readText(error)
    .toWellFormed()
    .replaceAll(/[^\P{Cc}\n\t]/gu, " ")
    .trim();
  if (text === "") return "It gave no reason.";
  return text.length > MAX_FAILURE_CHARACTERS ? `${text.slice(0, MAX_FAILURE_CHARACTERS - 3)}...` : text;
}

function readText(error: unknown): string {
  try {
    const message = error instanceof Error ? error.message : error;
    return typeof message === "string" ? message : String(message);
  } catch {
    return "";
  }
}
