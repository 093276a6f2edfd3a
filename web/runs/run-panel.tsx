/** A run from its start to its end: state, what waits for a person, result, what it printed, which tools it called. */

import { unwrap } from "#client/errors.ts";
import { PendingApproval } from "../approvals/pending-approval.tsx";
import { useAction } from "../parts/action.ts";
import { Card, CopyButton, Facts } from "../parts/basics.tsx";
import { Failure } from "../parts/failure.tsx";
import { count, formatBytes, formatMs } from "../parts/format.ts";
import { CircleAlert, Hand, Square } from "../parts/icons.tsx";
import { JsonTree, Plain } from "../parts/json-tree.tsx";
import { client, type Process } from "../server/api.ts";
import { CallTrail } from "./call-trail.tsx";
import { ConsoleOutput } from "./console-output.tsx";
import type { RunFeed } from "./feed.ts";
import { isActive, isDecided, REASONS, StateChip } from "./outcome.tsx";

/** `onShowLine`: there is an editor with the submitted source. */
export function RunPanel({ feed, onShowLine }: { feed: RunFeed; onShowLine?: (line: number) => void }) {
  const { process, calls, error } = feed;
  const killing = useAction();
  if (process === null) return <Failure error={error} />;
  const isLive = isActive(process);
  const hasOutput = Object.keys(process.output).length > 0;
  const kill = () =>
    killing.run(async () =>
      unwrap(
        await client.value.POST("/processes/{id}/signals/kill", {
          params: { path: { id: String(process.id) } },
        }),
      ),
    );
  return (
    <div class="stack" aria-live="off">
      <div class="row apart">
        <div class="row" role="status">
          <a href={`#/processes/${process.id}`} class="number">
            Process {process.id}
          </a>
          <StateChip process={process} />
          {isLive ? null : <span class="muted small number">{formatMs(process.usage.wallMs)}</span>}
        </div>
        {isLive ? (
          <button
            type="button"
            class="button danger"
            disabled={process.state === "terminating"}
            onClick={kill}
          >
            <Square /> Kill
          </button>
        ) : null}
      </div>
      <Failure error={error ?? killing.error} />
      {process.approvals.map((id) => (
        <PendingApproval key={id} id={id} />
      ))}
      <RunError process={process} {...(onShowLine && { onShowLine })} />
      {isLive || process.exitState === null ? null : <ResultCard process={process} />}
      {hasOutput ? (
        <Card title="Output">
          <JsonTree value={process.output} />
        </Card>
      ) : null}
      <Card
        title="Printed"
        flush
        side={
          <CopyButton
            text={() => feed.chunks.map(({ text }) => text).join("")}
            label="Copy what the script printed"
          />
        }
      >
        <ConsoleOutput feed={feed} isLive={isLive} />
      </Card>
      <Card title="Calls" flush side={<span class="muted small">{count(calls.length, "call")}</span>}>
        <CallTrail calls={calls} now={Date.now()} />
      </Card>
      {isLive ? null : <Usage process={process} />}
    </div>
  );
}

function ResultCard({ process }: { process: Process }) {
  if (process.exitState !== "success" && process.result === null) return null;
  return (
    <Card
      title="Result"
      side={
        <CopyButton text={() => JSON.stringify(process.result, null, 2)} label="Copy the result as JSON" />
      }
    >
      <JsonTree value={process.result} />
    </Card>
  );
}

function RunError({ process, onShowLine }: { process: Process; onShowLine?: (line: number) => void }) {
  const { error, errorDetail, reason, exitState } = process;
  if (isActive(process) || exitState === "success" || exitState === null) return null;
  const wasDecided = isDecided(process);
  const line = errorDetail?.line ?? null;
  const place =
    line === null ? null : `line ${line}${errorDetail?.column ? `, column ${errorDetail.column}` : ""}`;
  return (
    <div class={wasDecided ? "notice wait" : "notice bad"} role={wasDecided ? "status" : "alert"}>
      {wasDecided ? <Hand /> : <CircleAlert />}
      <div class="stack tight">
        <p>
          <strong>
            <Plain text={error ?? REASONS[reason ?? ""] ?? "The run ended without success."} />
          </strong>
        </p>
        <p class="details small">
          {error === null ? null : REASONS[reason ?? ""]}{" "}
          {place === null ? null : onShowLine === undefined || line === null ? (
            `At ${place}.`
          ) : (
            <button type="button" class="button small" onClick={() => onShowLine(line)}>
              Show {place}
            </button>
          )}
        </p>
        {errorDetail?.stack && !wasDecided ? (
          <details class="details small">
            <summary>Stack</summary>
            <pre class="wrap">
              <Plain text={errorDetail.stack} />
            </pre>
          </details>
        ) : null}
      </div>
    </div>
  );
}

function Usage({ process }: { process: Process }) {
  const { usage } = process;
  if (process.startedAt === null) return null;
  return (
    <Card title="Cost">
      <Facts
        facts={[
          ["Queued", formatMs(usage.queuedMs)],
          ["Start", formatMs(usage.startMs)],
          ["Ran", formatMs(usage.wallMs)],
          ["Processor", formatMs(usage.cpuMs)],
          ["Peak memory", formatBytes(usage.peakMemoryBytes)],
          ["Environment", process.environment ?? "–"],
        ]}
      />
    </Card>
  );
}
