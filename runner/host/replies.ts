/** The replies of the host to calls of a child, as text. What cannot be written, or is too large, becomes an error. */
import type { WireError } from "../wire/protocol.ts";

/** Replies larger than this become an error the script sees; a child is not made to swallow more. */
const MAX_REPLY_BYTES = 16 * 1024 * 1024;
const MAX_NAME_CHARS = 200;
const MAX_MESSAGE_CHARS = 10_000;
const MAX_CODE_CHARS = 200;

/** What a script is told of an error: name, message, code and status. */
export function toErrorReply(error: unknown): { error: unknown } {
  const data = toWireError(error);
  return { error: { code: -32000, message: data.message, data } };
}

/** The members of a reply after its id, as JSON text. */
export function encodeReply(body: { result: unknown } | { error: unknown }): string {
  let text: string;
  try {
    text = encodeMembers(body);
  } catch {
    text = "";
  }
  // Nothing is left of a function, or of what says that it has no JSON.
  if (text === "") text = encodeMembers(toErrorReply(new Error("The result is not JSON data.")));
  if (text.length <= MAX_REPLY_BYTES) return text;
  const error = Object.assign(
    new Error(
      `The result is ${text.length} characters of JSON; at most ${MAX_REPLY_BYTES} are passed to a script.`,
    ),
    { code: "result_too_large" },
  );
  return encodeMembers(toErrorReply(error));
}

function encodeMembers(body: object): string {
  return JSON.stringify(body).slice(1, -1);
}

/** Of anything thrown, what a script may see: never a stack or a cause. Never throws. */
function toWireError(error: unknown): WireError {
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
