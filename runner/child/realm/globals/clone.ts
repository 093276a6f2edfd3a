/** `structuredClone` by @ungap/structured-clone, with the errors of the standard. Loaded on first use. */
import { deserialize, serialize } from "@ungap/structured-clone";
import { DOMException } from "./dom-exception.ts";

/** @throws DOMException DataCloneError for functions, symbols and other values that cannot be cloned */
export function clone(value: unknown, options?: unknown): unknown {
  const transfer = [...((options as { transfer?: Iterable<unknown> } | undefined)?.transfer ?? [])];
  if (!transfer.every((item) => item instanceof ArrayBuffer)) {
    throw new DOMException("Only an ArrayBuffer can be transferred.", "DataCloneError");
  }
  let copy: unknown;
  try {
    copy = deserialize(serialize(value));
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new DOMException(`The value could not be cloned: ${error.message}`, "DataCloneError");
  }
  for (const buffer of transfer) (buffer as ArrayBuffer).transfer();
  return copy;
}
