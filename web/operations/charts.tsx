/** Two kinds of charts, drawn in lines and bars, each with its numbers in words for who cannot see it. */
import { formatMs } from "../parts/format.ts";
import { type Histogram, readQuantile } from "./metrics.ts";

const WIDTH = 600;
const HEIGHT = 120;
const GAP = 3;

export interface Series {
  name: string;
  values: readonly number[];
}

/** Lines over the same moments, the newest at the right. The first is filled. */
export function LineChart({
  label,
  series,
  times,
  spanMs,
  most = 1,
}: {
  label: string;
  series: readonly Series[];
  /** Of the values, in ms, ascending; the last is at the right edge. */
  times: readonly number[];
  /** From the left edge to the right. */
  spanMs: number;
  /** The chart is at least that high. */
  most?: number;
}) {
  const highest = Math.max(0, ...series.flatMap(({ values }) => [...values]));
  const top = Math.max(1, most, highest);
  const place = (values: readonly number[]) =>
    values.map((value, index) => {
      const x = WIDTH - (((times.at(-1) ?? 0) - (times[index] ?? 0)) / spanMs) * WIDTH;
      const y = HEIGHT - 2 - (value / top) * (HEIGHT - 10);
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    });
  const [first] = series;
  const area = first === undefined ? [] : place(first.values);
  const left = area[0]?.split(",")[0] ?? WIDTH;
  return (
    <figure class="stack tight">
      <svg
        class="chart"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label}: ${series.map(({ name, values }) => `${name} ${values.at(-1) ?? 0}`).join(", ")}`}
      >
        <line class="rule" x1="0" x2={WIDTH} y1={HEIGHT - 1} y2={HEIGHT - 1} />
        <line class="rule" x1="0" x2={WIDTH} y1="8" y2="8" />
        {area.length > 1 ? (
          <polygon class="area" points={`${left},${HEIGHT} ${area.join(" ")} ${WIDTH},${HEIGHT}`} />
        ) : null}
        {series.map(({ name, values }, index) => (
          <polyline
            key={name}
            class={index === 0 ? "line" : "line second"}
            points={place(values).join(" ")}
          />
        ))}
      </svg>
      <div class="axis" aria-hidden="true">
        <span>{formatMs(spanMs)} ago</span>
        <span>now</span>
      </div>
      <figcaption class="legend">
        {series.map(({ name, values }, index) => (
          <span key={name} class="number">
            <i class={index === 0 ? "" : "second"} />
            {name} {values.at(-1) ?? 0}
          </span>
        ))}
        <span class="number">highest {highest}</span>
      </figcaption>
    </figure>
  );
}

/** Buckets as bars; in seconds. */
export function HistogramChart({ label, histogram }: { label: string; histogram: Histogram | undefined }) {
  if (histogram === undefined || histogram.count === 0) {
    return <p class="chart muted small">Nothing measured yet.</p>;
  }
  const { buckets, count } = histogram;
  const first = Math.max(0, buckets.findIndex((bucket) => bucket.count > 0) - 1);
  const last = buckets.findLastIndex((bucket) => bucket.count > 0);
  const shown = buckets.slice(first, Math.min(buckets.length, last + 2));
  const top = Math.max(...shown.map((bucket) => bucket.count));
  const step = WIDTH / shown.length;
  const half = readQuantile(histogram, 0.5);
  const most = readQuantile(histogram, 0.95);
  return (
    <figure class="stack tight">
      <svg
        class="chart"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label}: ${count} measured, half within ${name(half)}, 95 percent within ${name(most)}`}
      >
        <line class="rule" x1="0" x2={WIDTH} y1={HEIGHT - 1} y2={HEIGHT - 1} />
        {shown.map((bucket, index) => {
          const height = (bucket.count / top) * (HEIGHT - 10);
          return (
            <rect
              key={bucket.upTo}
              class="bar"
              x={index * step + GAP / 2}
              y={HEIGHT - 1 - height}
              width={step - GAP}
              height={height}
              rx="2"
            />
          );
        })}
      </svg>
      <div class="axis" aria-hidden="true">
        <span>{first === 0 ? "0" : name(buckets[first - 1]?.upTo ?? null)}</span>
        <span>{name(shown.at(-1)?.upTo ?? null)}</span>
      </div>
      <figcaption class="legend number">
        <span>{count} measured</span>
        <span>half ≤ {name(half)}</span>
        <span>95 % ≤ {name(most)}</span>
      </figcaption>
    </figure>
  );
}

function name(seconds: number | null): string {
  return seconds === null ? "–" : seconds === Number.POSITIVE_INFINITY ? "more" : formatMs(seconds * 1000);
}
