/** Failures of modules, as plain errors: what a module throws may run code when it is looked at. */
import { readFailure } from "#api/bounds/failure-text.ts";

/** A module could not be activated; the message is the module's own. */
export class ModuleFailure extends Error {
  override readonly name = "ModuleFailure";

  constructor(cause: unknown) {
    super(readFailure(cause), { cause: copyError(cause) });
  }
}

/** An Error with name, message and stack of what was thrown. A copy, because reading a foreign error may throw. */
export function copyError(thrown: unknown): Error {
  const copy = new Error(readFailure(thrown));
  try {
    const { name, stack } = thrown as Error;
    if (typeof name === "string") copy.name = name.slice(0, 200);
    if (typeof stack === "string") copy.stack = stack.slice(0, 10_000);
  } catch {
    // The message could be read, the rest could not.
  }
  return copy;
}
