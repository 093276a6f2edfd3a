/**
 * Lays out the members of an object or array like the inspector: on one line if they are few, shallow and short, in
 * columns for a longer array, else one per line. The constants are the inspector's.
 */

import {
  charCodeAt,
  indexOf,
  isWellFormed,
  MathFloor,
  MathMax,
  MathMin,
  MathRound,
  MathSqrt,
  ObjectCreate,
  padEnd,
  padStart,
  repeat,
} from "../primordials.ts";

const BREAK_LENGTH = 80;
/** Number of innermost levels that may share a line. */
const COMPACT_LEVELS = 3;
const MIN_GROUPED_ITEMS = 6;
const APPROXIMATE_CHARACTER_HEIGHT = 2.5;
const MAX_COLUMNS = 15;
const SEPARATOR_CHARS = 2;

/** Texts by index. Not an array, so that a script's changes to Array.prototype have no effect. */
export interface List {
  length: number;
  readonly items: Record<number, string>;
}

export interface Layout {
  value: unknown[] | null;
  open: string;
  close: string;
  indentation: number;
  /** Levels of objects below this one, updated with each formatted member. */
  nestedLevels: number;
  /** Number of items not shown. If it is above zero, the last member says so. */
  hidden: number;
}

export function createList(): List {
  return { length: 0, items: ObjectCreate(null) as Record<number, string> };
}

export function append(list: List, text: string): void {
  list.items[list.length++] = text;
}

/** Returns null if the layout depends on character widths, which only the inspector knows. */
export function layOut(members: List, layout: Layout): string | null {
  let rows: List | null = members;
  if (layout.value !== null && members.length > MIN_GROUPED_ITEMS)
    rows = groupItems(members, layout, layout.value);
  if (rows === null) return null;
  const { open, close, indentation } = layout;
  if (layout.nestedLevels < COMPACT_LEVELS && rows.length === members.length) {
    const start = rows.length + indentation + open.length + 10;
    if (fitsLine(rows, start)) {
      const line = concat(rows, ", ");
      if (indexOf(line, "\n") === -1) return `${open} ${line} ${close}`;
    }
  }
  const margin = `\n${repeat(" ", indentation)}`;
  return `${open}${margin}  ${concat(rows, `,${margin}  `)}${margin}${close}`;
}

function fitsLine(members: List, start: number): boolean {
  let length = members.length + start;
  if (length + members.length > BREAK_LENGTH) return false;
  for (let index = 0; index < members.length; index++) {
    length += at(members, index).length;
    if (length > BREAK_LENGTH) return false;
  }
  return true;
}

function groupItems(members: List, layout: Layout, value: unknown[]): List | null {
  const count = layout.hidden > 0 ? members.length - 1 : members.length;
  let total = 0;
  let longest = 0;
  for (let index = 0; index < count; index++) {
    const text = at(members, index);
    if (!isPrintableAscii(text)) return null;
    total += text.length + SEPARATOR_CHARS;
    longest = MathMax(longest, text.length);
  }
  const widest = longest + SEPARATOR_CHARS;
  const mayGroup = widest * 3 + layout.indentation < BREAK_LENGTH && (total / widest > 5 || longest <= 6);
  if (!mayGroup) return members;
  const bias = MathSqrt(widest - total / members.length);
  const biased = MathMax(widest - 3 - bias, 1);
  const columns = MathMin(
    MathRound(MathSqrt(APPROXIMATE_CHARACTER_HEIGHT * biased * count) / biased),
    MathFloor((BREAK_LENGTH - layout.indentation) / widest),
    COMPACT_LEVELS * 4,
    MAX_COLUMNS,
  );
  if (columns <= 1) return members;
  const rows = createList();
  const pad = areNumbers(value, members.length) ? padStart : padEnd;
  for (let first = 0; first < count; first += columns) {
    const end = MathMin(first + columns, count);
    let row = "";
    for (let index = first; index < end - 1; index++) {
      row += pad(`${at(members, index)}, `, columnWidth(members, count, columns, index - first), " ");
    }
    const last = at(members, end - 1);
    const width = columnWidth(members, count, columns, end - 1 - first) - SEPARATOR_CHARS;
    append(rows, pad === padStart ? row + padStart(last, width, " ") : row + last);
  }
  if (layout.hidden > 0) append(rows, at(members, count));
  return rows;
}

function columnWidth(members: List, count: number, columns: number, column: number): number {
  let width = 0;
  for (let index = column; index < count; index += columns) width = MathMax(width, at(members, index).length);
  return width + SEPARATOR_CHARS;
}

function areNumbers(value: unknown[], count: number): boolean {
  for (let index = 0; index < count; index++) {
    if (typeof value[index] !== "number" && typeof value[index] !== "bigint") return false;
  }
  return true;
}

function concat(list: List, separator: string): string {
  let text = "";
  for (let index = 0; index < list.length; index++)
    text += index === 0 ? at(list, index) : separator + at(list, index);
  return text;
}

function at(list: List, index: number): string {
  return list.items[index] as string;
}

const MAX_QUOTED_CHARS = 10_000;
const SPACE = 0x20;
const BACKSLASH = 0x5c;
const DELETE = 0x7f;
const LAST_CONTROL = 0x9f;

/** Quotes a string within a printed value like the inspector, or returns null if it needs escapes. */
export function quotePlain(text: string): string | null {
  if (text.length > MAX_QUOTED_CHARS || !isWellFormed(text)) return null;
  for (let index = 0; index < text.length; index++) {
    const unit = charCodeAt(text, index);
    if (unit < SPACE || unit === BACKSLASH || (unit >= DELETE && unit <= LAST_CONTROL)) return null;
  }
  if (indexOf(text, "'") === -1) return `'${text}'`;
  if (indexOf(text, '"') === -1) return `"${text}"`;
  return indexOf(text, "`") === -1 && indexOf(text, "${") === -1 ? `\`${text}\`` : null;
}

/** Returns whether each character takes one column. */
function isPrintableAscii(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const unit = charCodeAt(text, index);
    if (unit < SPACE || unit >= DELETE) return false;
  }
  return true;
}
