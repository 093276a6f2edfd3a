/** The tool calls of a run as a timeline: each a bar from its beginning to its end, with what went in and came out. */
import { Fold } from "../parts/fold.tsx";
import { formatBytes, formatMs } from "../parts/format.ts";
import { JsonTree, Plain } from "../parts/json-tree.tsx";
import type { ToolCall } from "../server/api.ts";

const LOOKS: Record<string, string> = { ok: "good", error: "bad", denied: "wait", canceled: "bad" };
const WORDS: Record<string, string> = { ok: "ok", error: "failed", denied: "denied", canceled: "canceled" };
const MAX_SHOWN = 300;
/** Of a lane, in units of its drawing. */
const WIDTH = 1000;
const MIN_BAR = 8;

export function CallTrail({ calls, now }: { calls: readonly ToolCall[]; now: number }) {
  if (calls.length === 0) return <p class="muted card-body">It called no tool.</p>;
  const times = calls.map((call) => {
    const from = Date.parse(call.startedAt);
    return { from, to: from + (call.durationMs ?? Math.max(0, now - from)) };
  });
  const first = Math.min(...times.map(({ from }) => from));
  const span = Math.max(1, Math.max(...times.map(({ to }) => to)) - first);
  return (
    <ol class="trail">
      {calls.slice(0, MAX_SHOWN).map((call, index) => {
        const { from, to } = times[index] ?? { from: first, to: first };
        const x = Math.min(((from - first) / span) * WIDTH, WIDTH - MIN_BAR);
        const width = Math.min(Math.max(MIN_BAR, ((to - from) / span) * WIDTH), WIDTH - x);
        return <Call key={call.seq} call={call} x={x} width={width} />;
      })}
      {calls.length > MAX_SHOWN ? (
        <li class="card-body muted">… and {calls.length - MAX_SHOWN} more calls</li>
      ) : null}
    </ol>
  );
}

function Call({ call, x, width }: { call: ToolCall; x: number; width: number }) {
  const { serviceId, toolId, status, durationMs, error } = call;
  const look = status === null ? "busy" : (LOOKS[status] ?? "");
  return (
    <li>
      <Fold
        summary={
          <>
            <span class="tool mono">
              {serviceId}.{toolId}
            </span>
            <span class="lane">
              <svg viewBox={`0 0 ${WIDTH} 10`} preserveAspectRatio="none" aria-hidden="true">
                <rect class="ground" width={WIDTH} height="10" rx="2" />
                <rect class={look} x={x} width={width} height="10" rx="2" />
              </svg>
            </span>
            <span class="time">
              <span class={status === "ok" ? "visually-hidden" : ""}>
                {status === null ? "running" : WORDS[status]}{" "}
              </span>
              {status === null ? "" : formatMs(durationMs)}
            </span>
          </>
        }
      >
        {() => (
          <div class="more">
            <div class="stack tight">
              <h3>Parameters · {formatBytes(call.parametersBytes)}</h3>
              {call.parameters === undefined ? (
                <p class="muted small">Not kept.</p>
              ) : (
                <JsonTree value={call.parameters} />
              )}
            </div>
            <div class="stack tight">
              <h3>{error === undefined ? `Result · ${formatBytes(call.resultBytes)}` : "Error"}</h3>
              {error === undefined ? (
                call.result === undefined ? (
                  <p class="muted small">{status === null ? "Not there yet." : "Not kept."}</p>
                ) : (
                  <JsonTree value={call.result} />
                )
              ) : (
                <p class="wrap">
                  <Plain text={error} />
                </p>
              )}
            </div>
          </div>
        )}
      </Fold>
    </li>
  );
}
