/**
 * Values of a run as JSON text: made once, checked once, and stored and answered as that text. No value of a script is
 * ever assigned into an object of ours.
 */
import type { Redactor } from "#api/secrets/redactor.ts";

export const MAX_VALUE_DEPTH = 512;

export type JsonText = { ok: true; text: string; bytes: number } | { ok: false; problem: string };

/**
 * JSON text of a value from an environment; `undefined` becomes `null`. Members named `__proto__` are left out: a
 * careless reader would assign them. Refuses what is no JSON (cycles, bigints), nests deeper than 512 or is larger than
 * `maxBytes`.
 */
export function toJsonText(what: string, value: unknown, maxBytes: number): JsonText {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
    if (text?.includes('"__proto__"')) text = JSON.stringify(value, dropProto);
  } catch (error) {
    const problem =
      error instanceof RangeError ? `${what} is nested too deeply.` : `${what} cannot be written as JSON.`;
    return { ok: false, problem };
  }
  text ??= "null";
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes)
    return { ok: false, problem: `${what} is ${bytes} bytes of JSON; at most ${maxBytes} are kept.` };
  if (isDeeperThan(text, MAX_VALUE_DEPTH)) {
    return { ok: false, problem: `${what} is nested deeper than ${MAX_VALUE_DEPTH} levels.` };
  }
  return { ok: true, text, bytes };
}

/** As `toJsonText`, without secrets. The limit is for the value as it was given. */
export function toCleanJsonText(
  what: string,
  value: unknown,
  maxBytes: number,
  redactor: Pick<Redactor, "jsonText">,
): JsonText {
  const json = toJsonText(what, value, maxBytes);
  if (!json.ok) return json;
  const text = redactor.jsonText(json.text);
  return text === json.text ? json : { ok: true, text, bytes: Buffer.byteLength(text) };
}

function dropProto(key: string, value: unknown): unknown {
  return key === "__proto__" ? undefined : value;
}

/** Counts brackets outside strings, without building anything. */
function isDeeperThan(text: string, maxDepth: number): boolean {
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    switch (text.charCodeAt(index)) {
      case 0x22: // "
        index = endOfString(text, index);
        break;
      case 0x5b: // [
      case 0x7b: // {
        depth += 1;
        if (depth > maxDepth) return true;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth -= 1;
        break;
    }
  }
  return false;
}

/** Index of the quote that closes the string which opens at `start`. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

function isEscaped(text: string, index: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(index - 1 - backslashes) === 0x5c) backslashes += 1;
  return backslashes % 2 === 1;
}

/** Postgres text holds no NUL. */
export function withoutNul(text: string): string {
  return text.replaceAll("\0", "\ufffd");
}
