/** Null means absent: many servers write out every optional member, and the library refuses null for one. */
import { JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";

type Members = Record<string, unknown>;

/** Deeper members are a server's own data. */
const MAX_DEPTH = 4;

/** A copy without members that are null. Items of lists stay. */
export function withoutNulls(value: unknown, depth = MAX_DEPTH): unknown {
  if (!isMembers(value) || depth === 0) return value;
  const kept = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(kept.map(([name, member]) => [name, withoutNulls(member, depth - 1)]));
}

/** Every transport of the library reads messages by this method; it has no hook before it. Results of calls keep their data. */
const parse = JSONRPCMessageSchema.parse.bind(JSONRPCMessageSchema);
JSONRPCMessageSchema.parse = (message, params) => parse(mendMessage(message), params);

function mendMessage(message: unknown): unknown {
  if (!isMembers(message)) return message;
  const { error, result, ...rest } = message;
  const mended = { ...rest, ...(error !== null && "error" in message && { error }) };
  if (!isMembers(result)) return result === null || result === undefined ? mended : { ...mended, result };
  if ("serverInfo" in result) return { ...mended, result: withoutNulls(result) };
  const { _meta, ...data } = result;
  return { ...mended, result: _meta === null ? data : result };
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
