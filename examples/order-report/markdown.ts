// Imported by ../order-report.ts.
import type { Total } from "./totals.ts";

export function toMarkdown(title: string, totals: readonly Total[]): string {
  const rows = totals.map(({ status, orders, value }) => `| ${status} | ${orders} | ${value.toFixed(2)} |`);
  return [`# ${title}`, "", "| status | orders | value |", "| --- | --- | --- |", ...rows, ""].join("\n");
}
