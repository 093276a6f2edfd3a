/** Follows one process: its record, its output and its tool calls, live until the end and unchanged afterwards. */
import { useCallback, useEffect, useState } from "preact/hooks";
import type { ProcessEvent } from "#client/events.ts";
import { client, get, type Process, type ToolCall, useOnChange } from "../server/api.ts";
import { returns } from "../server/connection.ts";
import { soon, whileVisible } from "../server/stream.ts";
import { addChunk, NOTHING, type Printed } from "./printed.ts";

export interface RunFeed extends Printed {
  process: Process | null;
  calls: readonly ToolCall[];
  error: unknown;
}

const EMPTY: RunFeed = { ...NOTHING, process: null, calls: [], error: null };
const PAINT_MS = 50;

/** Follows nothing if `id` is null. A new `round` follows the same process from its start, after it was run again. */
export function useRun(id: number | null, round = 0): RunFeed {
  const [feed, setFeed] = useState<RunFeed>(EMPTY);
  const [attempt, setAttempt] = useState(0);
  const hasFailed = feed.error !== null;
  useOnChange(
    returns,
    useCallback(() => {
      if (hasFailed) setAttempt((before) => before + 1);
    }, [hasFailed]),
  );
  useEffect(() => {
    setFeed(EMPTY);
    if (id === null) return;
    const stop = new AbortController();
    void follow(id, stop.signal, setFeed);
    return () => stop.abort();
  }, [id, round, attempt]);
  return feed;
}

async function follow(id: number, signal: AbortSignal, show: (feed: RunFeed) => void): Promise<void> {
  let feed = EMPTY;
  let lastEventId: string | undefined;
  const paint = () => {
    if (!signal.aborted) show(feed);
  };
  const paintSoon = soon(PAINT_MS, signal, paint);
  try {
    const { process, calls } = await read(id, signal);
    if (process.state === "idle") {
      feed = { ...feed, ...finished(process), process, calls };
      return paint();
    }
    feed = { ...feed, process };
    paint();
    await whileVisible(signal, async (visible) => {
      const options = { signal: visible, ...(lastEventId !== undefined && { lastEventId }) };
      for await (const event of client.value.events(id, options)) {
        lastEventId = event.id;
        // The end is shown together with the outcome, which is not among the events.
        if ((event.event === "state" || event.event === "end") && event.data.state === "idle") continue;
        feed = apply(feed, event);
        paintSoon();
      }
    });
    feed = { ...feed, ...(await read(id, signal)) };
    if (feed.chunks.length === 0 && feed.process !== null) feed = { ...feed, ...finished(feed.process) };
  } catch (error) {
    feed = { ...feed, error };
  }
  paint();
}

async function read(id: number, signal: AbortSignal): Promise<Pick<RunFeed, "calls"> & { process: Process }> {
  const init = { params: { path: { id: String(id) } }, signal };
  const [process, { calls }] = await Promise.all([
    get("/processes/{id}", init),
    get("/processes/{id}/calls", init),
  ]);
  return { process, calls };
}

function finished(process: Process): Printed {
  const printed = addChunk(NOTHING, { stream: "stdout", text: process.stdout });
  return addChunk(printed, { stream: "stderr", text: process.stderr });
}

function apply(feed: RunFeed, { event, data }: ProcessEvent): RunFeed {
  switch (event) {
    case "stdout":
    case "stderr":
      return { ...feed, ...addChunk(feed, { stream: event, text: data.text }) };
    case "call": {
      const others = feed.calls.filter(({ seq }) => seq !== data.seq);
      return { ...feed, calls: [...others, data].sort((one, other) => one.seq - other.seq) };
    }
    case "output":
      return change(feed, (process) => ({ ...process, output: { ...process.output, ...data } }));
    case "approval":
      return change(feed, (process) => {
        const others = process.approvals.filter((known) => known !== data.id);
        return { ...process, approvals: data.state === "pending" ? [...others, data.id] : others };
      });
    case "artifact":
      return change(feed, (process) => {
        const others = process.artifacts.filter(({ name }) => name !== data.name);
        return { ...process, artifacts: [...others, data] };
      });
    case "state":
    case "end":
      return change(feed, (process) => ({ ...process, ...data }));
  }
}

function change(feed: RunFeed, edit: (process: Process) => Process): RunFeed {
  return feed.process === null ? feed : { ...feed, process: edit(feed.process) };
}
