/** Line and bar charts, each with its numbers as text for screen readers. */
import type { ComponentChildren } from "preact";
import { formatMs } from "../parts/format.tsx";
import { type Histogram, readQuantile } from "./metrics.ts";

const WIDTH = 600;
const HEIGHT = 120;
const GAP = 3;

interface FrameProps {
  /** Text for screen readers. */
  label: string;
  axis: readonly [string, string];
  legend: ComponentChildren;
  children: ComponentChildren;
}

function Frame({ label, axis, legend, children }: FrameProps) {
  return (
    <figure class="stack tight">
      <svg
        class="chart"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
      >
        <line class="rule" x1="0" x2={WIDTH} y1={HEIGHT - 1} y2={HEIGHT - 1} />
        {children}
      </svg>
      <div class="row apart axis" aria-hidden="true">
        <span>{axis[0]}</span>
        <span>{axis[1]}</span>
      </div>
      <figcaption class="row legend number">{legend}</figcaption>
    </figure>
  );
}

interface LineChartProps {
  label: string;
  /** The first series is filled. */
  series: Record<string, readonly number[]>;
  /** Times of the values in ms, ascending; the last is at the right edge. */
  times: readonly number[];
  /** Time from the left edge to the right. */
  spanMs: number;
  /** Minimum upper bound of the vertical axis. */
  most?: number;
}

/** Draws lines over the same times, the newest at the right. */
export function LineChart({ label, series, times, spanMs, most = 1 }: LineChartProps) {
  const lines = Object.entries(series);
  const highest = Math.max(0, ...lines.flatMap(([, values]) => values));
  const top = Math.max(1, most, highest);
  const place = (values: readonly number[]) =>
    values.map((value, index) => {
      const x = WIDTH - (((times.at(-1) ?? 0) - (times[index] ?? 0)) / spanMs) * WIDTH;
      const y = HEIGHT - 2 - (value / top) * (HEIGHT - 10);
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    });
  const area = place(lines[0]?.[1] ?? []);
  const left = area[0]?.split(",")[0] ?? WIDTH;
  const current = lines.map(([name, values]) => `${name} ${values.at(-1) ?? 0}`);
  return (
    <Frame
      label={`${label}: ${current.join(", ")}`}
      axis={[`${formatMs(spanMs)} ago`, "now"]}
      legend={
        <>
          {current.map((text, index) => (
            <span key={text}>
              <i class={index === 0 ? "" : "second"} />
              {text}
            </span>
          ))}
          <span>highest {highest}</span>
        </>
      }
    >
      <line class="rule" x1="0" x2={WIDTH} y1="8" y2="8" />
      {area.length > 1 ? (
        <polygon class="area" points={`${left},${HEIGHT} ${area.join(" ")} ${WIDTH},${HEIGHT}`} />
      ) : null}
      {lines.map(([name, values], index) => (
        <polyline key={name} class={index === 0 ? "line" : "line second"} points={place(values).join(" ")} />
      ))}
    </Frame>
  );
}

export function HistogramChart({ label, histogram }: { label: string; histogram: Histogram | undefined }) {
  if (histogram === undefined || histogram.count === 0) {
    return <p class="chart muted small">No data yet.</p>;
  }
  const { buckets, count } = histogram;
  const first = Math.max(0, buckets.findIndex((bucket) => bucket.count > 0) - 1);
  const last = buckets.findLastIndex((bucket) => bucket.count > 0);
  const shown = buckets.slice(first, Math.min(buckets.length, last + 2));
  const top = Math.max(...shown.map((bucket) => bucket.count));
  const step = WIDTH / shown.length;
  const half = write(readQuantile(histogram, 0.5));
  const most = write(readQuantile(histogram, 0.95));
  return (
    <Frame
      label={`${label}: ${count} measured, half within ${half}, 95 percent within ${most}`}
      axis={[first === 0 ? "0" : write(buckets[first - 1]?.upTo ?? null), write(shown.at(-1)?.upTo ?? null)]}
      legend={
        <>
          <span>{count} measured</span>
          <span>half ≤ {half}</span>
          <span>95 % ≤ {most}</span>
        </>
      }
    >
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
    </Frame>
  );
}

function write(seconds: number | null): string {
  return seconds === null ? "–" : seconds === Number.POSITIVE_INFINITY ? "more" : formatMs(seconds * 1000);
}
