/** The server's log, live. */
import { useEffect, useState } from "preact/hooks";
import { Button } from "../parts/controls.tsx";
import { Failure } from "../parts/failure.tsx";
import { SelectField, TextField, useFields } from "../parts/fields.tsx";
import { JsonTree, Plain } from "../parts/json-tree.tsx";
import { Card, Fold, PageHead, Tail } from "../parts/layout.tsx";
import { fetchPath, type LogRecord } from "../server/api.ts";
import { followStream, soon } from "../server/stream.ts";

const LEVELS = [
  ["", "All levels"],
  ["debug", "debug and above"],
  ["info", "info and above"],
  ["warn", "warn and above"],
  ["error", "error and above"],
] as const;
const MAX_SHOWN = 1000;
const FIRST = "200";
const PAINT_MS = 100;

export default function LogsPage() {
  const { values, field } = useFields({ levelMin: "", query: "", processId: "" });
  const [isLive, setLive] = useState(true);
  const { levelMin, query, processId } = values;
  const filter = new URLSearchParams({
    ...(levelMin !== "" && { levelMin }),
    ...(query !== "" && { query }),
    ...(/^[1-9]\d*$/.test(processId) && { processId }),
  }).toString();
  const { records, error } = useLogs(filter, isLive);
  return (
    <>
      <PageHead title="Logs" about="Recent and live log records of this server. Secrets are redacted.">
        <Button icon={isLive ? "pause" : "play"} aria-pressed={!isLive} onClick={() => setLive(!isLive)}>
          {isLive ? "Pause" : "Follow"}
        </Button>
      </PageHead>
      <search class="filters">
        <SelectField label="Level" options={LEVELS} {...field("levelMin")} />
        <TextField label="Words" type="search" {...field("query")} />
        <TextField label="Run" {...field("processId")} placeholder="id" />
      </search>
      <div class="stack">
        <Failure error={error} />
        <Card
          title="Records"
          flush
          side={<span class={`chip ${isLive ? "busy" : ""}`}>{isLive ? "live" : "paused"}</span>}
        >
          <Tail label="Log records" class="tail" role="log">
            {records.map((record) => (
              <Line key={record.id} record={record} />
            ))}
          </Tail>
        </Card>
      </div>
    </>
  );
}

function useLogs(filter: string, isLive: boolean): { records: readonly LogRecord[]; error: unknown } {
  const [state, setState] = useState<{ records: readonly LogRecord[]; error: unknown }>({
    records: [],
    error: null,
  });
  useEffect(() => {
    if (!isLive) return;
    const stop = new AbortController();
    let records: readonly LogRecord[] = [];
    const paintSoon = soon(PAINT_MS, stop.signal, () => setState({ records, error: null }));
    const add = (more: readonly LogRecord[]) => {
      const known = new Set(records.map(({ id }) => id));
      records = [...records, ...more.filter(({ id }) => !known.has(id))]
        .sort((one, other) => (one.time < other.time ? -1 : Number(one.time > other.time)))
        .slice(-MAX_SHOWN);
      paintSoon();
    };
    const refuse = (error: unknown) => {
      if (!stop.signal.aborted) setState((before) => ({ ...before, error }));
    };
    // Reads older records after the stream is open, so that none is lost in between.
    const readBefore = () => void readLast(filter, stop.signal).then(add).catch(refuse);
    followStream(
      `/logs/stream?${filter}`,
      stop.signal,
      ({ event, data }) => {
        if (event === "log") add([data as LogRecord]);
        else readBefore();
      },
      readBefore,
    ).catch(refuse);
    return () => stop.abort();
  }, [filter, isLive]);
  return state;
}

async function readLast(filter: string, signal: AbortSignal): Promise<LogRecord[]> {
  const response = await fetchPath(`/logs?${filter}&limit=${FIRST}`, { signal });
  return ((await response.json()) as { logs: LogRecord[] }).logs.reverse();
}

function Line({ record }: { record: LogRecord }) {
  const { time, level, type, message, processId, serviceId, toolId, requestId, fields } = record;
  const about = [
    describe(fields),
    processId === null ? "" : `#${processId}`,
    toolId === null ? "" : `${serviceId}.${toolId}`,
  ];
  const summary = (
    <>
      <span class="when">{time.slice(11, 23)}</span> <span class={`level ${level}`}>{level}</span>{" "}
      {type === message ? null : <span class="muted">{type} </span>}
      <Plain text={message} />{" "}
      <span class="muted">
        <Plain text={about.filter((part) => part !== "").join(" ")} />
      </span>
    </>
  );
  return (
    <Fold summary={summary}>
      {() => (
        <div class="more">
          <JsonTree value={{ ...fields, ...(requestId !== null && { requestId }) }} />
        </div>
      )}
    </Fold>
  );
}

/** Returns the most informative fields of a request or run, on one line. */
function describe({ method, route, status, durationMs, exitState, reason }: Record<string, unknown>): string {
  const parts = [method, route, status, exitState, reason === exitState ? undefined : reason];
  const words = parts.filter((part) => typeof part === "string" || typeof part === "number");
  return [...words, ...(typeof durationMs === "number" ? [`${durationMs} ms`] : [])].join(" ");
}
