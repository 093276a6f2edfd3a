/** Formats tables, facts and times for display. Lines longer than the terminal are cut, never wrapped. */
import { visibleLine } from "#client/visible-text.ts";
import type { Terminal } from "./terminal.ts";

export type Cell = string | number | boolean | null | undefined;

const GAP = "  ";
/** Longer cells are cut, except in a pipe, whose reader may need the complete text. */
const MAX_CELL_CHARACTERS = 60;

export type Columns<T> = Record<string, (item: T) => Cell>;

/**
 * Shows `empty` instead of a table without rows: in a pipe on standard error, because programs count lines of
 * standard output. Cells may contain foreign text.
 */
export function formatTable<T>(
  { stdout: terminal, stderr }: { stdout: Terminal; stderr: Terminal },
  items: readonly T[],
  empty: string,
  columns: Columns<T>,
): string {
  if (items.length === 0) {
    if (terminal.isTty) return empty === "" ? "" : `${terminal.paint("dim", empty)}\n`;
    if (empty !== "") stderr.write(`${empty}\n`);
    return "";
  }
  const cellsOf = Object.values(columns);
  const heads = Object.keys(columns);
  const rows = items.map((item) => cellsOf.map((cellOf) => formatCell(cellOf(item), terminal.isTty)));
  const widths = heads.map((head, at) => Math.max(head.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const format = (row: readonly string[]) => {
    const line = row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(GAP);
    return line.trimEnd().slice(0, terminal.isTty ? Math.max(20, terminal.columns) : undefined);
  };
  return [terminal.paint("bold", format(heads)), ...rows.map(format)].map((line) => `${line}\n`).join("");
}

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
  return visibleLine(typeof value === "boolean" ? (value ? "yes" : "no") : String(value));
}

const STEPS: readonly [ms: number, unit: string][] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1000, "s"],
];

/** Returns for example `3 min ago`; empty for no time. */
export function ago(iso: string | null): string {
  const at = iso === null ? Number.NaN : Date.parse(iso);
  if (Number.isNaN(at)) return "";
  return `${inUnits(Math.max(0, Date.now() - at))} ago`;
}

/** Returns for example `in 3 h`, or `expired`. */
export function until(iso: string | null): string {
  const at = iso === null ? Number.NaN : Date.parse(iso);
  if (Number.isNaN(at)) return "";
  return at <= Date.now() ? "expired" : `in ${inUnits(at - Date.now())}`;
}

/** Returns an empty string before the start; counts up to now before the end. */
export function took(from: string | null, to: string | null): string {
  if (from === null) return "";
  return inUnits(Math.max(0, (to === null ? Date.now() : Date.parse(to)) - Date.parse(from)));
}

function inUnits(ms: number): string {
  const [stepMs, unit] = STEPS.find(([size]) => ms >= size) ?? [1, "ms"];
  return `${Math.floor(ms / stepMs)} ${unit}`;
}
