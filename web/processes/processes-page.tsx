/** All processes, newest first, updated live; two of them can be compared. */
import { useEffect, useState } from "preact/hooks";
import { navigate } from "wouter-preact/use-hash-location";
import { Button } from "../parts/controls.tsx";
import { Loaded } from "../parts/failure.tsx";
import { SelectField, TextField, useFields } from "../parts/fields.tsx";
import { Ago, count, formatMs } from "../parts/format.tsx";
import { Plain } from "../parts/json-tree.tsx";
import { Empty, List, PageHead, Row } from "../parts/layout.tsx";
import { StateChip } from "../runs/outcome.tsx";
import { type ProcessSummary, useGet } from "../server/api.ts";
import { followStream } from "../server/stream.ts";

const PAGE = 50;
const MAX_PAGE = 200;

const FILTERS = [
  ["", "All"],
  ["state:running", "Running"],
  ["state:queued", "Queued"],
  ["state:paused", "Waiting for approval"],
  ["status:success", "Succeeded"],
  ["status:failed", "Failed"],
  ["status:timeout", "Timed out"],
  ["status:canceled", "Canceled"],
  ["status:null", "Never finished"],
] as const;

export default function ProcessesPage() {
  const { values, field } = useFields({ filter: "", ref: "" });
  const [limit, setLimit] = useState(PAGE);
  const [marked, setMarked] = useState<readonly number[]>([]);
  const [kind, value] = values.filter.split(":");
  const query = {
    limit: String(limit),
    ...(kind === "state" && { state: value as ProcessSummary["state"] }),
    ...(kind === "status" && { status: value as "success" }),
    ...(values.ref !== "" && { ref: values.ref }),
  };
  const processes = useGet("/processes", { params: { query } });
  const { reload } = processes;
  useEffect(() => {
    const stop = new AbortController();
    // The list request fails for the same reason and shows the error.
    followStream("/processes/stream", stop.signal, reload).catch(() => {});
    return () => stop.abort();
  }, [reload]);
  const mark = (id: number) =>
    setMarked(marked.includes(id) ? marked.filter((other) => other !== id) : [...marked, id].slice(-2));
  const isFiltered = values.filter !== "" || values.ref !== "";

  return (
    <>
      <PageHead
        title="Runs"
        about="Submitted scripts and how they ended. Without the scope processes:all you see only your own."
      >
        <Button
          icon="git-compare-arrows"
          disabled={marked.length !== 2}
          title="Select two runs to compare"
          onClick={() => navigate(`/processes/compare/${marked.join("/")}`)}
        >
          Compare {marked.length}/2
        </Button>
        <a class="button primary" href="#/run">
          New run
        </a>
      </PageHead>
      <search class="filters">
        <SelectField label="Show" options={FILTERS} {...field("filter")} />
        <TextField label="Ref" type="search" {...field("ref")} placeholder="exactly" />
      </search>
      <div class="stack">
        <Loaded resource={processes}>
          {(data) => (
            <>
              <List
                items={data.processes}
                empty={
                  <Empty
                    icon="activity"
                    title="No runs"
                    text={
                      isFiltered
                        ? "No matches for these filters."
                        : "No runs yet. Press New run to start one."
                    }
                  />
                }
              >
                {(process) => (
                  <ProcessRow
                    key={process.id}
                    process={process}
                    isMarked={marked.includes(process.id)}
                    onMark={() => mark(process.id)}
                  />
                )}
              </List>
              {data.nextCursor !== null && limit < MAX_PAGE ? (
                <div class="row center">
                  <Button onClick={() => setLimit(MAX_PAGE)}>Show more</Button>
                </div>
              ) : null}
            </>
          )}
        </Loaded>
      </div>
    </>
  );
}

interface ProcessRowProps {
  process: ProcessSummary;
  isMarked: boolean;
  onMark: () => void;
}

function ProcessRow({ process, isMarked, onMark }: ProcessRowProps) {
  const { id, ref, error, usage, createdAt, startedAt } = process;
  return (
    <Row
      before={
        <input
          type="checkbox"
          checked={isMarked}
          onChange={onMark}
          aria-label={`Select run ${id} to compare`}
        />
      }
      side={
        <>
          <StateChip process={process} />
          {usage.toolCalls > 0 ? <span>{count(usage.toolCalls, "call")}</span> : null}
          {startedAt === null ? null : <span class="number">{formatMs(usage.wallMs)}</span>}
          <Ago at={createdAt} />
        </>
      }
    >
      <a href={`#/processes/${id}`} class="number">
        <Plain text={ref === undefined ? String(id) : `${id} · ${ref}`} />
      </a>
      {error === null ? null : (
        <p class="clamp">
          <Plain text={error} />
        </p>
      )}
    </Row>
  );
}
