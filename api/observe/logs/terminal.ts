import { styleText } from "node:util";
import { visibleJson, visibleLine, visibleText } from "#client/visible-text.ts";

const LOOKS = { warn: "yellow", error: "red", fatal: "red" } as const;

/**
 * Formats a log line for people: time, level, message and other fields, with a stack on separate lines. Scripts and
 * callers wrote parts of the line, so control characters are escaped.
 */
export function formatLogLine(line: string): string {
  const { level, time, msg = "", err, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const stack = (err as { stack?: unknown } | undefined)?.stack;
  const others = Object.entries({ ...fields, ...(err !== undefined && stack === undefined && { err }) });
  const shown = others.map(([name, value]) => ` ${name}=${visibleJson(value)}`).join("");
  const clock = new Date(String(time)).toTimeString().slice(0, 8);
  const look = LOOKS[level as keyof typeof LOOKS] ?? "green";
  const head = `${styleText("dim", clock)} ${styleText(look, String(level).padEnd(5))}`;
  const tail = stack === undefined ? "" : `\n  ${visibleText(String(stack)).replaceAll("\n", "\n  ")}`;
  return `${head} ${visibleLine(String(msg))}${styleText("dim", visibleLine(shown))}${tail}\n`;
}
