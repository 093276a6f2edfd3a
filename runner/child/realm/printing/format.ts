/**
 * The costly half of `console`: formatting by the extracted inspector of Node, tables, traces. Loaded on first use;
 * what a script did to its realm by then can only spoil its own text.
 */
import { format, formatWithOptions, inspect } from "node-inspect-extracted";
import { formatTable as drawTable } from "./table.ts";

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

/** The text and the stack of the caller, as the realm shows stacks. */
export function formatTrace(text: string): string {
  const trace = new Error(text);
  trace.name = "Trace";
  return trace.stack ?? `Trace: ${text}`;
}

export function formatTable(data: object, columns?: string[]): string {
  return drawTable(data, columns, (value) =>
    formatWithOptions({ depth: typeof value === "object" && value !== null ? 0 : 1 }, "%O", value),
  );
}
