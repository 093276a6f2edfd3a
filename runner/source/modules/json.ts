import { type Refused, sourceError } from "../errors.ts";
import { placeIn } from "../excerpt.ts";

export function readJson(text: string): { keys: Set<string> } | Refused {
  const json = text.replace(/^\uFEFF/, "");
  try {
    const value: unknown = JSON.parse(json);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return { keys: new Set(isObject ? Object.keys(value) : []) };
  } catch (error) {
    const [message] = (error as Error).message.split(/ in JSON at position|, "|, \.\.\."/) as [string];
    return sourceError(
      `No JSON: ${message.slice(0, 200)}.`,
      placeIn({ text: json, firstLine: 0 }, findFault(json, (error as Error).message)),
    );
  }
}

/** The engine gives no position for an unexpected token. */
function findFault(text: string, message: string): number {
  const position = / at position (\d+)/.exec(message)?.[1];
  if (position !== undefined) return Number(position);
  let before = ",";
  for (TOKEN.lastIndex = 0; ; ) {
    SPACE.lastIndex = TOKEN.lastIndex;
    SPACE.exec(text);
    const at = SPACE.lastIndex;
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(text)?.[0];
    if (
      token === undefined ||
      (VALUE_FOLLOWS.includes(before) && ",:]}".includes(token) && before + token !== "[]")
    )
      return at;
    before = token;
  }
}
const SPACE = /[ \t\r\n]*/y;
const TOKEN = /[[\]{},:]|"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const VALUE_FOLLOWS = "[,:";
