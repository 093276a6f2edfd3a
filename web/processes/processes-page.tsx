/** All processes, newest first, kept up to date; two of them side by side. */

import { useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { unwrap } from "#client/errors.ts";
import { Card, Empty, Loading, PageHead } from "../parts/basics.tsx";
import { Failure } from "../parts/failure.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { count, formatMs } from "../parts/format.ts";
import { Activity, GitCompareArrows } from "../parts/icons.tsx";
import { Plain } from "../parts/json-tree.tsx";
import { Ago } from "../parts/moment.tsx";
import { StateChip } from "../runs/outcome.tsx";
import { client, type ProcessSummary } from "../server/api.ts";
import { useProcessChanges } from "../server/use-process-changes.ts";
import { useResource } from "../server/use-resource.ts";

const PAGE = 50;
const MAX_PAGE = 200;

const FILTERS = [
  ["", "All"],
  ["state:running", "Running"],
  ["state:queued", "Queued"],
  ["state:paused", "Waiting for a person"],
  ["status:success", "Succeeded"],
  ["status:failed", "Failed"],
  ["status:timeout", "Timed out"],
  ["status:canceled", "Canceled"],
  ["status:null", "Never finished"],
] as const;

export default function ProcessesPage() {
  const [filter, setFilter] = useState("");
  const [ref, setRef] = useState("");
  const [limit, setLimit] = useState(PAGE);
  const [marked, setMarked] = useState<readonly number[]>([]);
  const [, navigate] = useLocation();
  const { data, error, reload } = useResource(
    async (signal) => {
      const [kind, value] = filter.split(":");
      const query = {
        limit: String(limit),
        ...(kind === "state" && { state: value as ProcessSummary["state"] }),
        ...(kind === "status" && { status: value as "success" }),
        ...(ref.trim() !== "" && { ref: ref.trim() }),
      };
      return unwrap(await client.value.GET("/processes", { params: { query }, signal }));
    },
    [filter, ref, limit],
  );
  useProcessChanges(reload);
  const mark = (id: number) =>
    setMarked(marked.includes(id) ? marked.filter((other) => other !== id) : [...marked, id].slice(-2));

  return (
    <>
      <PageHead
        title="Processes"
        about="Scripts that were submitted, and how they ended. A key without processes:all sees its own."
      >
        <button
          type="button"
          class="button"
          disabled={marked.length !== 2}
          title="Mark two processes to compare them"
          onClick={() => navigate(`/processes/compare/${marked.join("/")}`)}
        >
          <GitCompareArrows /> Compare {marked.length}/2
        </button>
        <a class="button primary" href="#/run">
          New run
        </a>
      </PageHead>
      <search class="filters">
        <SelectField label="Show" value={filter} options={FILTERS} onChange={setFilter} />
        <TextField label="Ref" type="search" value={ref} onInput={setRef} placeholder="exactly" />
      </search>
      <Failure error={error} retry={reload} />
      {data === null ? (
        error === null ? (
          <Loading />
        ) : null
      ) : (
        <Card flush>
          {data.processes.length === 0 ? (
            <Empty icon={Activity} title="No process">
              <p>
                {filter === "" && ref === "" ? "Nothing has run here yet." : "None that fits these filters."}
              </p>
            </Empty>
          ) : (
            <ul class="list">
              {data.processes.map((process) => (
                <Row
                  key={process.id}
                  process={process}
                  isMarked={marked.includes(process.id)}
                  onMark={() => mark(process.id)}
                />
              ))}
            </ul>
          )}
        </Card>
      )}
      {data?.nextCursor && limit < MAX_PAGE ? (
        <p class="row" style={{ justifyContent: "center", marginTop: "14px" }}>
          <button type="button" class="button" onClick={() => setLimit(MAX_PAGE)}>
            Show more
          </button>
        </p>
      ) : null}
    </>
  );
}

function Row({
  process,
  isMarked,
  onMark,
}: {
  process: ProcessSummary;
  isMarked: boolean;
  onMark: () => void;
}) {
  const { id, ref, error, usage, createdAt } = process;
  return (
    <li class="list-row">
      <input
        type="checkbox"
        checked={isMarked}
        onChange={onMark}
        aria-label={`Mark process ${id} to compare it`}
      />
      <div class="list-main">
        <a href={`#/processes/${id}`} class="number">
          {id}
          {ref === undefined ? null : (
            <>
              {" "}
              · <Plain text={ref} />
            </>
          )}
        </a>
        {error === null ? null : (
          <p class="clamp">
            <Plain text={error} />
          </p>
        )}
      </div>
      <div class="list-side">
        <StateChip process={process} />
        {usage.toolCalls > 0 ? <span>{count(usage.toolCalls, "call")}</span> : null}
        {process.startedAt === null ? null : <span class="number">{formatMs(usage.wallMs)}</span>}
        <Ago at={createdAt} />
      </div>
    </li>
  );
}
