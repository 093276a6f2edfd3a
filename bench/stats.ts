/** Order statistics and the table rows the benchmark prints. */

/** The value below which the fraction `q` of the samples lies (nearest rank). NaN for no samples. */
export function quantile(samples: readonly number[], q: number): number {
  if (samples.length === 0) return Number.NaN;
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))] as number;
}

export const median = (samples: readonly number[]) => quantile(samples, 0.5);

export interface Row {
  measure: string;
  value: string;
  /** What it has to reach, e.g. `<= 0.3 x bare spawn`. Absent: for information. */
  target?: string;
  met?: boolean;
}

export const ms = (value: number) => `${value.toFixed(2)} ms`;
export const perSecond = (value: number) => `${value.toFixed(1)}/s`;

/** A row that compares a figure with the most it may be. */
export function atMost(measure: string, figure: number, limit: number, shown: string, unit = ""): Row {
  return { measure, value: shown, target: `<= ${limit}${unit}`, met: figure <= limit };
}

/** A row that compares a figure with the least it may be. */
export function atLeast(measure: string, figure: number, limit: number, shown: string, unit = ""): Row {
  return { measure, value: shown, target: `>= ${limit}${unit}`, met: figure >= limit };
}

/** Prints rows as one aligned Markdown table. */
export function formatTable(rows: readonly Row[]): string {
  const cells = [
    ["measure", "value", "target", ""],
    ...rows.map((row) => [
      row.measure,
      row.value,
      row.target ?? "",
      row.met === undefined ? "" : row.met ? "met" : "MISSED",
    ]),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...cells.map((line) => (line[column] ?? "").length)));
  const lines = cells.map((line) => `| ${line.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(" | ")} |`);
  lines.splice(1, 0, `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`);
  return lines.join("\n");
}
