/** What of a failure on the host a script may see: name, message, code and status; never a stack or a cause. */
import type { WireError } from "./protocol.ts";

const MAX_NAME_CHARS = 200;
const MAX_MESSAGE_CHARS = 10_000;
const MAX_CODE_CHARS = 200;

/** Reduces anything thrown to what crosses to a script. Never throws. */
export function toWireError(error: unknown): WireError {
  try {
    return reduce(error);
  } catch {
    return { name: "Error", message: "The host failed in a way it could not describe." };
  }
}

function reduce(error: unknown): WireError {
  if (typeof error !== "object" || error === null) {
    return { name: "Error", message: String(error).slice(0, MAX_MESSAGE_CHARS) };
  }
  const { name, message, code, status } = error as Record<string, unknown>;
  return {
    name: typeof name === "string" && name !== "" ? name.slice(0, MAX_NAME_CHARS) : "Error",
    message: typeof message === "string" ? message.slice(0, MAX_MESSAGE_CHARS) : "The host gave no message.",
    ...(typeof code === "string" && { code: code.slice(0, MAX_CODE_CHARS) }),
    ...(typeof status === "number" && Number.isInteger(status) && { status }),
  };
}
