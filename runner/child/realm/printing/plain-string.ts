/** Strings inside of printed values, as the inspector quotes them; null where it would have to escape. */
import { charCodeAt, indexOf, isWellFormed } from "../primordials.ts";

const MAX_CHARS = 10_000;
const SPACE = 0x20;
const BACKSLASH = 0x5c;
const DELETE = 0x7f;
const LAST_CONTROL = 0x9f;

export function quotePlain(text: string): string | null {
  if (text.length > MAX_CHARS || !isWellFormed(text)) return null;
  for (let index = 0; index < text.length; index++) {
    const unit = charCodeAt(text, index);
    if (unit < SPACE || unit === BACKSLASH || (unit >= DELETE && unit <= LAST_CONTROL)) return null;
  }
  if (indexOf(text, "'") === -1) return `'${text}'`;
  if (indexOf(text, '"') === -1) return `"${text}"`;
  return indexOf(text, "`") === -1 && indexOf(text, "${") === -1 ? `\`${text}\`` : null;
}

/** Whether each character takes one column. */
export function isPrintableAscii(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const unit = charCodeAt(text, index);
    if (unit < SPACE || unit >= DELETE) return false;
  }
  return true;
}
