/**
 * Parses histograms from the server's Prometheus metrics. Supports only the part of the format that the server uses.
 */

export interface Histogram {
  /** Upper bounds in the metric's unit, ascending; the last is Infinity. `count` is for this bucket alone. */
  buckets: { upTo: number; count: number }[];
  count: number;
  sum: number;
}

const LINE = /^([a-zA-Z_:][\w:]*?)(_bucket|_sum|_count)(?:\{(.*)\})? ([^ ]+)$/;
const BOUND = /(?:^|,)le="([^"]+)"/;

/** Returns one histogram per name, summed over all labels. */
export function readHistograms(text: string, names: readonly string[]): Map<string, Histogram> {
  const found = new Map<string, { bounds: Map<number, number>; count: number; sum: number }>();
  for (const line of text.split("\n")) {
    const [, name = "", kind, labels = "", value = "0"] = LINE.exec(line) ?? [];
    if (!names.includes(name)) continue;
    const histogram = found.get(name) ?? { bounds: new Map(), count: 0, sum: 0 };
    found.set(name, histogram);
    const number = Number(value);
    if (kind === "_sum") histogram.sum += number;
    else if (kind === "_count") histogram.count += number;
    else {
      const bound = Number(BOUND.exec(labels)?.[1]?.replace("+Inf", "Infinity"));
      histogram.bounds.set(bound, (histogram.bounds.get(bound) ?? 0) + number);
    }
  }
  return new Map(
    [...found].map(([name, { bounds, count, sum }]) => [name, { buckets: separate(bounds), count, sum }]),
  );
}

/** Prometheus buckets are cumulative. */
function separate(bounds: Map<number, number>): Histogram["buckets"] {
  let below = 0;
  return [...bounds]
    .sort(([one], [other]) => one - other)
    .map(([upTo, cumulative]) => {
      const count = cumulative - below;
      below = cumulative;
      return { upTo, count };
    });
}

/** Returns the bucket bound below which the given share lies, or null without observations. */
export function readQuantile({ buckets, count }: Histogram, share: number): number | null {
  if (count === 0) return null;
  let seen = 0;
  for (const bucket of buckets) {
    seen += bucket.count;
    if (seen >= count * share) return bucket.upTo;
  }
  return null;
}
