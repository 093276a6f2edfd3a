/** A run's tool calls as a timeline: each call is a bar from start to end, with its parameters and result. */
import { describePath } from "#client/visible-text.ts";
import { formatBytes, formatMs } from "../parts/format.tsx";
import { JsonTree, Plain } from "../parts/json-tree.tsx";
import { Fold } from "../parts/layout.tsx";
import type { ToolCall } from "../server/api.ts";

const LOOKS: Record<string, string> = {
  ok: "good",
  error: "bad",
  denied: "wait",
  canceled: "bad",
  unknown: "wait",
};
const MAX_SHOWN = 300;
/** Width of a lane, in SVG units. */
const WIDTH = 1000;
const MIN_BAR = 8;

interface TrailProps {
  calls: readonly ToolCall[];
  now: number;
  /** True if the run may make more calls. */
  isLive: boolean;
}

export function CallTrail({ calls, now, isLive }: TrailProps) {
  if (calls.length === 0) {
    return <p class="muted card-body">{isLive ? "No tool calls so far." : "No tool calls."}</p>;
  }
  const times = calls.map((call) => {
    const from = Date.parse(call.startedAt);
    const callFrom = from + call.waitedMs;
    return { from, callFrom, to: callFrom + (call.durationMs ?? Math.max(0, now - from)) };
  });
  const first = Math.min(...times.map(({ from }) => from));
  const span = Math.max(1, Math.max(...times.map(({ to }) => to)) - first);
  return (
    <ol class="trail">
      {calls.slice(0, MAX_SHOWN).map((call, index) => {
        const { from, callFrom, to } = times[index] ?? { from: first, callFrom: first, to: first };
        const place = (at: number) => ((at - first) / span) * WIDTH;
        const x = Math.min(place(callFrom), WIDTH - MIN_BAR);
        const width = Math.min(Math.max(MIN_BAR, place(to) - place(callFrom)), WIDTH - x);
        const waited = { x: place(from), width: Math.max(0, x - place(from)) };
        return <Call key={call.seq} call={call} waited={waited} x={x} width={width} />;
      })}
      {calls.length > MAX_SHOWN ? (
        <li class="card-body muted">… and {calls.length - MAX_SHOWN} more calls</li>
      ) : null}
    </ol>
  );
}

interface CallProps {
  call: ToolCall;
  /** Part of the lane in which the call waited for an approver. */
  waited: { x: number; width: number };
  x: number;
  width: number;
}

function Call({ call, waited, x, width }: CallProps) {
  const { status, durationMs, waitedMs, error, httpStatus } = call;
  const look = status === null ? "busy" : (LOOKS[status] ?? "");
  return (
    <li>
      <Fold
        summary={
          <>
            <span class="tool mono">{describePath(call)}</span>
            <span class="lane">
              <svg viewBox={`0 0 ${WIDTH} 10`} preserveAspectRatio="none" aria-hidden="true">
                <rect class="base" width={WIDTH} height="10" rx="2" />
                {waitedMs === 0 ? null : <rect class="waited" {...waited} y="3.5" height="3" />}
                <rect class={look} x={x} width={width} height="10" rx="2" />
              </svg>
            </span>
            <span class="time">
              <span class={status === "ok" ? "visually-hidden" : ""}>
                {status === null ? "running" : status === "error" ? "failed" : status}{" "}
              </span>
              {status === null ? "" : formatMs(durationMs)}
            </span>
          </>
        }
      >
        {() => (
          <div class="more">
            {waitedMs === 0 ? null : <p class="muted small">Waited for approval for {formatMs(waitedMs)}.</p>}
            {httpStatus === undefined ? null : <p class="muted small">HTTP status {httpStatus}</p>}
            <div class="stack tight">
              <h3>Parameters · {formatBytes(call.parametersBytes)}</h3>
              <Recorded value={call.parameters} without="Not stored." />
            </div>
            <div class="stack tight">
              <h3>{error === undefined ? `Result · ${formatBytes(call.resultBytes)}` : "Error"}</h3>
              {error === undefined ? (
                <Recorded value={call.result} without={status === null ? "Still running." : "Not stored."} />
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

function Recorded({ value, without }: { value: unknown; without: string }) {
  return value === undefined ? <p class="muted small">{without}</p> : <JsonTree value={value} />;
}
