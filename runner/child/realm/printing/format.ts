/**
 * The expensive half of `console`: formatting by Node's inspector, tables, traces. Loaded on first use. Changes that
 * a script has made to its realm by then can only break its own output.
 */
import { format, formatWithOptions, inspect, stripVTControlCharacters } from "node-inspect-extracted";

const MAX_ROWS = 1000;
const MAX_COLUMNS = 100;
const INDEX = "(index)";
const VALUES = "Values";

export const inspector = { inspect, format, formatWithOptions, stripVTControlCharacters };

export function formatArguments(args: unknown[]): string {
  return format(...args);
}

export function inspectValue(value: unknown, options?: object): string {
  return inspect(value, { customInspect: false, ...options });
}

export function indentLines(text: string, indent: string): string {
  return text.replaceAll("\n", `\n${indent}`);
}

export function formatAssertion(args: unknown[]): string {
  if (typeof args[0] === "string") return format(`Assertion failed: ${args[0]}`, ...args.slice(1));
  return format("Assertion failed:", ...args);
}

/** Returns the text and the caller's stack, in the realm's format. */
export function formatTrace(text: string): string {
  const trace = new Error(text);
  trace.name = "Trace";
  return trace.stack ?? `Trace: ${text}`;
}

/**
 * Draws `console.table`. Rows are the entries of an array, object, Map or Set; columns are their properties, or the
 * wanted ones.
 */
export function formatTable(data: object, wanted?: readonly string[]): string {
  const rows: { index: string; cells: Map<string, string> }[] = [];
  const columns = new Set<string>(wanted);
  let hasValues = false;
  for (const [index, value] of listEntries(data)) {
    if (rows.length === MAX_ROWS) break;
    const cells = new Map<string, string>();
    if (typeof value === "object" && value !== null) {
      for (const key of Object.keys(value)) {
        if (wanted === undefined && columns.size < MAX_COLUMNS) columns.add(key);
        if (columns.has(key)) cells.set(key, showCell((value as Record<string, unknown>)[key]));
      }
    } else {
      hasValues = true;
      cells.set(VALUES, showCell(value));
    }
    rows.push({ index, cells });
  }
  const head = [...columns];
  if (hasValues) head.push(VALUES);
  return draw(
    [INDEX, ...head],
    rows.map(({ index, cells }) => [index, ...head.map((key) => cells.get(key) ?? "")]),
  );
}

function showCell(value: unknown): string {
  return formatWithOptions({ depth: typeof value === "object" && value !== null ? 0 : 1 }, "%O", value);
}

function listEntries(data: object): Iterable<[string, unknown]> {
  if (data instanceof Map)
    return [...data].map(([key, value], index) => [String(index), { Key: key, Values: value }]);
  if (data instanceof Set) return [...data].map((value, index) => [String(index), value]);
  return Object.entries(data);
}

function draw(head: string[], rows: string[][]): string {
  const widths = head.map(
    (title, column) =>
      Math.max(...[head, ...rows].map((row) => (row[column] ?? "").length), title.length) + 2,
  );
  const line = (left: string, middle: string, right: string) =>
    left + widths.map((width) => "─".repeat(width)).join(middle) + right;
  const text = (row: string[]) =>
    `│${row.map((cell, column) => ` ${cell}`.padEnd(widths[column] ?? 0)).join("│")}│`;
  return [line("┌", "┬", "┐"), text(head), line("├", "┼", "┤"), ...rows.map(text), line("└", "┴", "┘")].join(
    "\n",
  );
}
