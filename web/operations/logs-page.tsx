/** The server's log, live. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { CyrnelError } from "#client/errors.ts";
import { Card, PageHead } from "../parts/basics.tsx";
import { Failure } from "../parts/failure.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { Fold } from "../parts/fold.tsx";
import { Pause, Play } from "../parts/icons.tsx";
import { JsonTree, Plain } from "../parts/json-tree.tsx";
import { fetchPath } from "../server/api.ts";
import { followStream } from "../server/stream.ts";

interface LogRecord {
  id: string;
  time: string;
  level: string;
  type: string;
  message: string;
  requestId: string | null;
  processId: number | null;
  serviceId: string | null;
  toolId: string | null;
  fields: Record<string, unknown>;
}

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
const AT_END_PX = 40;

export default function LogsPage() {
  const [levelMin, setLevelMin] = useState("");
  const [query, setQuery] = useState("");
  const [processId, setProcessId] = useState("");
  const [isLive, setLive] = useState(true);
  const filter = new URLSearchParams({
    ...(levelMin !== "" && { levelMin }),
    ...(query.trim() !== "" && { query: query.trim() }),
    ...(/^[1-9]\d*$/.test(processId.trim()) && { processId: processId.trim() }),
  }).toString();
  const { records, error } = useLogs(filter, isLive);
  return (
    <>
      <PageHead title="Logs" about="The last records of this server, redacted, and new ones as they come.">
        <button type="button" class="button" aria-pressed={!isLive} onClick={() => setLive(!isLive)}>
          {isLive ? <Pause /> : <Play />} {isLive ? "Pause" : "Follow"}
        </button>
      </PageHead>
      <search class="filters">
        <SelectField label="Level" value={levelMin} options={LEVELS} onChange={setLevelMin} />
        <TextField label="Words" type="search" value={query} onInput={setQuery} />
        <TextField label="Process" value={processId} onInput={setProcessId} placeholder="id" />
      </search>
      <div class="stack">
        <Failure error={error} />
        <Card
          title="Records"
          flush
          side={<span class={`chip ${isLive ? "busy" : ""}`}>{isLive ? "live" : "paused"}</span>}
        >
          <Tail records={records} />
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
    let painting: ReturnType<typeof setTimeout> | undefined;
    const paintSoon = () => {
      painting ??= setTimeout(() => {
        painting = undefined;
        if (!stop.signal.aborted) setState({ records, error: null });
      }, PAINT_MS);
    };
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
    // What was there is read when the stream is open, so that nothing is lost between the two.
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
    return () => {
      stop.abort();
      clearTimeout(painting);
    };
  }, [filter, isLive]);
  return state;
}

async function readLast(filter: string, signal: AbortSignal): Promise<LogRecord[]> {
  const response = await fetchPath(`/logs?${filter}&limit=${FIRST}`, { signal });
  const body = await response.json().catch(() => null);
  if (!response.ok) throw new CyrnelError(response, body);
  return (body as { logs: LogRecord[] }).logs.reverse();
}

function Tail({ records }: { records: readonly LogRecord[] }) {
  const element = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    const { current } = element;
    if (current !== null && isAtEnd.current) current.scrollTop = current.scrollHeight;
  }, [records]);
  return (
    <div
      ref={element}
      class="tail"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
      tabIndex={0}
      role="log"
      aria-live="off"
      aria-label="Records of the log"
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < AT_END_PX;
      }}
    >
      {records.map((record) => (
        <Line key={record.id} record={record} />
      ))}
    </div>
  );
}

function Line({ record }: { record: LogRecord }) {
  const { time, level, type, message, processId, serviceId, toolId, requestId, fields } = record;
  return (
    <Fold
      summary={
        <>
          <span class="when">{time.slice(11, 23)}</span> <span class={`level ${level}`}>{level}</span>{" "}
          {type === message ? null : <span class="muted">{type} </span>}
          <Plain text={message} />{" "}
          <span class="muted">
            <Plain text={describe(fields)} />
          </span>
          {processId === null ? null : <span class="muted"> #{processId}</span>}
          {toolId === null ? null : (
            <span class="muted">
              {" "}
              {serviceId}.{toolId}
            </span>
          )}
        </>
      }
    >
      {() => (
        <div class="more">
          <JsonTree value={{ ...fields, ...(requestId !== null && { requestId }) }} />
        </div>
      )}
    </Fold>
  );
}

/** What says most about a request or a run, in a line. */
function describe({ method, route, status, durationMs, exitState, reason }: Record<string, unknown>): string {
  const parts = [method, route, status, exitState, reason === exitState ? undefined : reason];
  const words = parts.filter((part) => typeof part === "string" || typeof part === "number");
  return [...words, ...(typeof durationMs === "number" ? [`${durationMs} ms`] : [])].join(" ");
}
