/**
 * Text of others on a terminal: escape sequences, control characters and marks that turn the direction of writing round are
 * shown, not obeyed. A script that prints them could otherwise rewrite what stands above it, or answer in the user's name.
 */

/** Controls without tab and line feed, other ends of a line, and marks of direction. */
const UNSAFE = /(?![\t\n])[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;
const LINE_OR_TAB = /[\t\n]/g;
const SHORT: Record<string, string> = { "\u001b": "\\e", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Several lines: tab and line feed stay, and a carriage return before a line feed goes. */
export function safeLines(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(UNSAFE, show);
}

/** One line, for a cell of a table or an error: line feeds are shown too. */
export function safeLine(text: string): string {
  return text.replace(LINE_OR_TAB, show).replace(UNSAFE, show);
}

/** JSON that means the same and has no such character in it. `space` as of JSON.stringify. */
export function safeJson(value: unknown, space?: number): string {
  return (JSON.stringify(value, null, space) ?? "null").replace(UNSAFE, escapeUnicode);
}

/** For text that comes in pieces: a carriage return at the end of one belongs to what comes next. */
export function createSafeStream(): (text: string, isLast?: boolean) => string {
  let held = "";
  return (text, isLast = false) => {
    const whole = held + text;
    held = !isLast && whole.endsWith("\r") ? "\r" : "";
    return safeLines(whole.slice(0, whole.length - held.length));
  };
}

function show(character: string): string {
  return SHORT[character] ?? escapeUnicode(character);
}

function escapeUnicode(character: string): string {
  const code = character.charCodeAt(0);
  return `\\u${code.toString(16).padStart(4, "0")}`;
}
