/**
 * Text of others on a terminal: escape sequences, control characters and marks that turn the direction of writing round are
 * shown, not obeyed. A script that prints them could otherwise rewrite what stands above it, or answer in the user's name.
 */
import { visibleLine } from "#client/visible-text.ts";

/** One line, for a cell of a table or an error; and JSON that means the same. */
export { visibleJson as safeJson, visibleLine as safeLine } from "#client/visible-text.ts";

/** Controls without tab and line feed, other ends of a line, and marks of direction. */
const UNSAFE = /(?![\t\n])[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/** Several lines: tab and line feed stay, and a carriage return before a line feed goes. */
export function safeLines(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(UNSAFE, visibleLine);
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
