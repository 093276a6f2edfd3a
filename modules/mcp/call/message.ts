/**
 * Reads server messages before the MCP library does: large integers keep their digits, and null means absent, because
 * many servers write out every optional member.
 */
import { type JSONRPCMessage, JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";
import { isJsonObject, parseExactJson } from "#sdk";

/** Deeper members are the server's own data. */
const MAX_DEPTH = 4;

/** Reads a message or a batch. Throws for messages that the protocol does not define. */
export function readMessages(text: string): JSONRPCMessage[] {
  return [parseExactJson(text)].flat().map((message) => JSONRPCMessageSchema.parse(mendMessage(message)));
}

/** Returns a copy without null members. List items stay. */
export function withoutNulls(value: unknown, depth = MAX_DEPTH): unknown {
  if (!isJsonObject(value) || depth === 0) return value;
  const kept = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(kept.map(([name, member]) => [name, withoutNulls(member, depth - 1)]));
}

function mendMessage(message: unknown): unknown {
  if (!isJsonObject(message)) return message;
  const { error, result, ...rest } = message;
  const mended = { ...rest, ...(error !== null && "error" in message && { error }) };
  if (!isJsonObject(result)) return result === null || result === undefined ? mended : { ...mended, result };
  if ("serverInfo" in result) return { ...mended, result: withoutNulls(result) };
  const { _meta, ...data } = result;
  return { ...mended, result: _meta === null ? data : result };
}

/** Yields the events of an event stream. The caller limits the body. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<{ name: string; data: string }> {
  let parts: string[] = [];
  let name = "message";
  let data: string[] = [];
  for await (const chunk of body.pipeThrough(
    new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>,
  )) {
    parts.push(chunk);
    if (!/[\r\n]/.test(chunk)) continue;
    // A carriage return at the end may be half of a line end.
    const lines = parts.join("").split(/\r\n|\n|\r(?!$)/);
    parts = [lines.pop() ?? ""];
    for (const line of lines) {
      if (line === "") {
        if (data.length > 0) yield { name, data: data.join("\n") };
        name = "message";
        data = [];
      } else if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
      else if (line.startsWith("event:")) name = line.slice(6).trim();
    }
  }
}
