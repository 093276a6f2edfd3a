/** Times and plans of each operation over all sizes, as text, and what of it is not as it has to be. */
import { quantile } from "../stats.ts";
import type { CallPlan } from "./plans.ts";

export interface SizeResult {
  size: number;
  samples: number[];
  plan: CallPlan;
}

export interface OperationResult {
  name: string;
  isBound: boolean;
  /** From the smallest to the largest. */
  sizes: SizeResult[];
}

/** The largest p95 over the smallest, where it is bound. */
export const MAX_RATIO = 1.5;

export function ratioOf({ sizes }: OperationResult): number {
  const [first, last] = [sizes[0], sizes.at(-1)];
  return quantile(last?.samples ?? [], 0.95) / quantile(first?.samples ?? [], 0.95);
}

export function formatTimes(results: readonly OperationResult[]): string {
  const sizes = results[0]?.sizes.map(({ size }) => formatSize(size)) ?? [];
  return formatCells([
    ["operation", "", ...sizes.map((size) => `p95 ${size}`), "ratio", "limit", ""],
    ...results.map((result) => {
      const ratio = ratioOf(result);
      const p50 = result.sizes.map(({ samples }) => quantile(samples, 0.5).toFixed(2)).join(" / ");
      return [
        result.name,
        `p50 ${p50} ms`,
        ...result.sizes.map(({ samples }) => `${quantile(samples, 0.95).toFixed(2)} ms`),
        ratio.toFixed(2),
        result.isBound ? `<= ${MAX_RATIO}` : "",
        result.isBound ? (ratio <= MAX_RATIO ? "met" : "MISSED") : "",
      ];
    }),
  ]);
}

export function formatPlans(results: readonly OperationResult[]): string {
  return results
    .map(({ name, sizes }) => {
      const figures = sizes
        .map(({ size, plan }) => `${formatSize(size)}: ${plan.rowsRead} rows, ${plan.pages} pages`)
        .join("; ");
      const first = sizes[0]?.plan.scans ?? [];
      const changes = sizes
        .filter(({ plan }) => !isSame(plan.scans, first))
        .map(({ size, plan }) => `  at ${formatSize(size)}: ${difference(first, plan.scans)}`);
      return [name, `  ${figures}`, ...first.map((scan) => `  ${scan}`), ...changes].join("\n");
    })
    .join("\n");
}

/** Growing tables that are read from end to end where there is more than the smallest size of them. */
export function listSequential(results: readonly OperationResult[]): string[] {
  return results.flatMap(({ name, sizes }) =>
    sizes
      .slice(sizes.length > 1 ? 1 : 0)
      .filter(({ plan }) => plan.sequential.length > 0)
      .map(({ size, plan }) => `${name}, at ${formatSize(size)}: ${plan.sequential.join(", ")}`),
  );
}

function difference(before: readonly string[], after: readonly string[]): string {
  const gone = before.filter((scan) => !after.includes(scan)).map((scan) => `without ${scan}`);
  const come = after.filter((scan) => !before.includes(scan)).map((scan) => `with ${scan}`);
  return [...gone, ...come].join(", ");
}

function isSame(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((scan, at) => scan === right[at]);
}

function formatSize(size: number): string {
  if (size % 1_000_000 === 0) return `${size / 1_000_000} M`;
  return size % 1000 === 0 ? `${size / 1000} k` : String(size);
}

function formatCells(lines: string[][]): string {
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((line) => (line[column] ?? "").length)),
  );
  const [head = "", ...rest] = lines.map(
    (line) => `| ${line.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`,
  );
  return [head, `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`, ...rest].join("\n");
}
