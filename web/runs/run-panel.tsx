/** A run from start to end: state, pending approvals, result, output and tool calls. */
import { lazy, Suspense } from "preact/compat";
import { Artifacts } from "../files/artifacts.tsx";
import { useAction } from "../parts/action.tsx";
import { Button, CopyButton } from "../parts/controls.tsx";
import { Failure, Loading } from "../parts/failure.tsx";
import { count, formatBytes, formatMs } from "../parts/format.tsx";
import { JsonCard, JsonTree, Plain } from "../parts/json-tree.tsx";
import { Card, Facts, Notice, Tail } from "../parts/layout.tsx";
import { type Process, post } from "../server/api.ts";
import { CallTrail } from "./call-trail.tsx";
import type { RunFeed } from "./feed.ts";
import { isActive, isDecided, REASONS, StateChip } from "./outcome.tsx";
import { toPlainText } from "./printed.ts";

/** Loaded when a run first waits for approval. */
const PendingApproval = lazy(async () => {
  const { PendingApproval } = await import("../approvals/pending-approval.tsx");
  return { default: PendingApproval };
});

interface RunPanelProps {
  feed: RunFeed;
  /** Shows a line of the submitted source in an editor. */
  onShowLine: (line: number) => void;
}

export function RunPanel({ feed, onShowLine }: RunPanelProps) {
  const { process, calls, error } = feed;
  const killing = useAction();
  if (process === null) return <Failure error={error} />;
  const isLive = isActive(process);
  const params = { path: { id: String(process.id) } };
  const hasResult =
    process.exitState === "success" || (process.exitState !== null && process.result !== null);
  return (
    <div class="stack" aria-live="off">
      <div class="row apart">
        <div class="row" role="status">
          <a href={`#/processes/${process.id}`} class="number">
            Run {process.id}
          </a>
          <StateChip process={process} />
          {isLive ? null : <span class="muted small number">{formatMs(process.usage.wallMs)}</span>}
        </div>
        {isLive ? (
          <Button
            look="danger"
            icon="square"
            disabled={process.state === "terminating"}
            onClick={() => killing.run(() => post("/processes/{id}/signals/kill", { params }))}
          >
            Kill
          </Button>
        ) : null}
      </div>
      <Failure error={error ?? killing.error} />
      <Suspense fallback={<Loading />}>
        {process.approvals.map((id) => (
          <PendingApproval key={id} id={id} />
        ))}
      </Suspense>
      <RunError process={process} onShowLine={onShowLine} />
      <Warnings process={process} onShowLine={onShowLine} />
      {isLive || !hasResult ? null : (
        <JsonCard title="Result" value={process.result} copy="Copy result as JSON" />
      )}
      {Object.keys(process.output).length === 0 ? null : (
        <Card title="Output">
          <JsonTree value={process.output} />
        </Card>
      )}
      <Artifacts process={process} />
      <Printed feed={feed} isLive={isLive} />
      <Card title="Calls" flush side={<span class="muted small">{count(calls.length, "call")}</span>}>
        <CallTrail calls={calls} now={Date.now()} isLive={isLive} />
      </Card>
      {isLive || process.startedAt === null ? null : <Usage process={process} />}
    </div>
  );
}

function RunError({ process, onShowLine }: { process: Process; onShowLine: (line: number) => void }) {
  const { error, errorDetail, reason, exitState } = process;
  if (isActive(process) || exitState === "success" || exitState === null) return null;
  const wasDecided = isDecided(process);
  const { line, column, file, stack } = errorDetail ?? {};
  return (
    <Notice
      look={wasDecided ? "wait" : "bad"}
      role={wasDecided ? "status" : "alert"}
      icon={wasDecided ? "hand" : "circle-alert"}
    >
      <p>
        <strong>
          <Plain text={error ?? REASONS[reason ?? ""] ?? "The run failed."} />
        </strong>
      </p>
      <p class="details small">
        {error === null ? null : REASONS[reason ?? ""]}{" "}
        {line && file ? <Plain text={`${file}:${line}${column ? `:${column}` : ""}`} /> : null}
        {line && !file ? (
          <Button look="small" onClick={() => onShowLine(line)}>
            Show line {line}
            {column ? `, column ${column}` : ""}
          </Button>
        ) : null}
      </p>
      {stack && !wasDecided ? (
        <details class="details small">
          <summary>Stack</summary>
          <pre class="wrap">
            <Plain text={stack} />
          </pre>
        </details>
      ) : null}
    </Notice>
  );
}

function Warnings({
  process: { warnings },
  onShowLine,
}: Pick<RunPanelProps, "onShowLine"> & { process: Process }) {
  if (warnings.length === 0) return null;
  return (
    <Notice look="wait" role="status" icon="circle-alert">
      <p>
        <strong>{count(warnings.length, "warning")}</strong>
      </p>
      <ul class="details small">
        {warnings.map(({ code, message, line, file }, index) => (
          <li key={index}>
            <Plain text={message} /> <span class="muted">{code.replaceAll("_", " ")}</span>{" "}
            {line && file ? <Plain text={`${file}:${line}`} /> : null}
            {line && !file ? (
              <Button look="small" onClick={() => onShowLine(line)}>
                Show line {line}
              </Button>
            ) : null}
          </li>
        ))}
      </ul>
    </Notice>
  );
}

function Printed({ feed: { chunks, droppedCharacters }, isLive }: { feed: RunFeed; isLive: boolean }) {
  const copy = <CopyButton text={() => chunks.map(({ text }) => text).join("")} label="Copy printed text" />;
  return (
    <Card title="Printed" flush side={copy}>
      <Tail label="Output of the script" class="console" isLive={isLive}>
        {droppedCharacters > 0 ? (
          <span class="none">
            … {count(droppedCharacters, "earlier character")} not shown here{"\n"}
          </span>
        ) : null}
        {chunks.length === 0 ? <span class="none">{isLive ? "No output yet." : "No output."}</span> : null}
        {chunks.map(({ stream, text }, index) => (
          <span key={index} class={stream}>
            {toPlainText(text)}
          </span>
        ))}
      </Tail>
    </Card>
  );
}

function Usage({ process: { usage, environment } }: { process: Process }) {
  return (
    <Card title="Usage">
      <Facts
        facts={{
          Queued: formatMs(usage.queuedMs),
          Start: formatMs(usage.startMs),
          Ran: formatMs(usage.wallMs),
          "CPU time": formatMs(usage.cpuMs),
          "Peak memory": formatBytes(usage.peakMemoryBytes),
          Environment: environment ?? "–",
        }}
      />
    </Card>
  );
}
