/** Returns the value below which the fraction `q` of the samples lies (nearest rank), or NaN for no samples. */
export function quantile(samples: readonly number[], q: number): number {
  if (samples.length === 0) return Number.NaN;
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))] as number;
}

export const median = (samples: readonly number[]) => quantile(samples, 0.5);

export interface Row {
  measure: string;
  value: string;
  /** The limit, such as `<= 0.3`. Rows without one are informative only. */
  target?: string;
  met?: boolean;
}

export const ms = (value: number) => `${value.toFixed(2)} ms`;
export const perSecond = (value: number) => `${value.toFixed(1)}/s`;

export function atMost(measure: string, figure: number, limit: number, shown: string, unit = ""): Row {
  return { measure, value: shown, target: `<= ${limit}${unit}`, met: figure <= limit };
}

export function atLeast(measure: string, figure: number, limit: number, shown: string, unit = ""): Row {
  return { measure, value: shown, target: `>= ${limit}${unit}`, met: figure >= limit };
}

export function formatTable(rows: readonly Row[]): string {
  const verdict = ({ met }: Row) => (met === undefined ? "" : met ? "met" : "MISSED");
  return formatCells([
    ["measure", "value", "target", ""],
    ...rows.map((row) => [row.measure, row.value, row.target ?? "", verdict(row)]),
  ]);
}

export function formatCells(cells: readonly (readonly string[])[]): string {
  const widths = (cells[0] ?? []).map((_, column) =>
    Math.max(...cells.map((line) => line[column]?.length ?? 0)),
  );
  const lines = cells.map((line) => `| ${line.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(" | ")} |`);
  lines.splice(1, 0, `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`);
  return lines.join("\n");
}
