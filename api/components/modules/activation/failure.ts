/** The failure of a module, with its own message. */
import { readFailure } from "#api/bounds/failure-text.ts";

/** A module could not be activated; the message is the module's own. */
export class ModuleFailure extends Error {
  override readonly name = "ModuleFailure";

  constructor(cause: unknown) {
    super(readFailure(cause), { cause: copyError(cause) });
  }
}

/** An Error with the texts of what was thrown and nothing else of it: reading a foreign one again might throw. */
export function copyError(thrown: unknown): Error {
  const copy = new Error(readFailure(thrown));
  try {
    const { name, stack } = thrown as Error;
    if (typeof name === "string") copy.name = name.slice(0, 200);
    if (typeof stack === "string") copy.stack = stack.slice(0, 10_000);
  } catch {
    // The texts could be had, the rest not.
  }
  return copy;
}
