/** Rows in columns, for a person: what does not fit is cut at the end of the line, never wrapped. */
import type { Terminal } from "../terminal.ts";
import { safeLine } from "./safe-text.ts";

export type Cell = string | number | boolean | null | undefined;

const GAP = "  ";
/** Longer cells are cut, except in a pipe, where a program may want all of it. */
const MAX_CELL_CHARACTERS = 60;

/** With a head; `empty` in place of a table without rows. Cells may be anybody's text. */
export function formatTable(
  terminal: Terminal,
  heads: readonly string[],
  rows: readonly (readonly Cell[])[],
  empty: string,
): string {
  if (rows.length === 0) return terminal.isTty ? `${terminal.paint("dim", empty)}\n` : "";
  const cells = rows.map((row) => row.map((cell) => formatCell(cell, terminal.isTty)));
  const widths = heads.map((head, column) =>
    Math.max(head.length, ...cells.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join(GAP)
      .trimEnd();
  const cut = (text: string) => (terminal.isTty ? text.slice(0, Math.max(20, terminal.columns)) : text);
  return [terminal.paint("bold", cut(line(heads))), ...cells.map((row) => cut(line(row)))]
    .map((text) => `${text}\n`)
    .join("");
}

/** Names and values, one a line. */
export function formatFacts(
  terminal: Terminal,
  facts: readonly (readonly [name: string, value: Cell])[],
): string {
  const width = Math.max(0, ...facts.map(([name]) => name.length));
  return facts
    .map(([name, value]) => `${terminal.paint("dim", name.padEnd(width))}${GAP}${formatValue(value)}\n`)
    .join("");
}

function formatCell(cell: Cell, isCut: boolean): string {
  const text = formatValue(cell);
  return isCut && text.length > MAX_CELL_CHARACTERS ? `${text.slice(0, MAX_CELL_CHARACTERS - 1)}…` : text;
}

function formatValue(value: Cell): string {
  if (value === null || value === undefined || value === "") return "-";
  return safeLine(typeof value === "boolean" ? (value ? "yes" : "no") : String(value));
}
