import { diffLines } from "diff";
import { Changes, listChanges, MAX_LINES, toLines } from "../approvals/changes.tsx";
import { Loaded } from "../parts/failure.tsx";
import { formatBytes, formatMs } from "../parts/format.tsx";
import { JsonTree, Plain } from "../parts/json-tree.tsx";
import { Card, PageHead, Table } from "../parts/layout.tsx";
import { StateChip } from "../runs/outcome.tsx";
import { get, type Process, useResource } from "../server/api.ts";

const MAX_EDITS = 2000;
/** Maximum characters of a shown line. */
const MAX_CHARACTERS = 2000;

export default function ComparePage({ one, other }: { one: string; other: string }) {
  const processes = useResource(
    (signal) =>
      Promise.all([
        get("/processes/{id}", { params: { path: { id: one } }, signal }),
        get("/processes/{id}", { params: { path: { id: other } }, signal }),
      ]),
    [one, other],
  );
  return (
    <>
      <PageHead title={`Runs ${one} and ${other}`} back={{ href: "#/processes", label: "Runs" }} />
      <Loaded resource={processes}>{([left, right]) => <Comparison left={left} right={right} />}</Loaded>
    </>
  );
}

interface Compared {
  left: Process;
  right: Process;
}

function Comparison({ left, right }: Compared) {
  const changes = listChanges(left.result, right.result);
  return (
    <div class="stack">
      <Outcomes left={left} right={right} />
      <Card title="Result">
        {changes.length === 0 ? (
          <>
            <p class="muted">Identical.</p>
            <JsonTree value={left.result} />
          </>
        ) : (
          <Changes lines={toLines(changes)} maxCharacters={MAX_CHARACTERS} />
        )}
      </Card>
      <Differences title="Source" left={left.code} right={right.code} />
      <Differences title="stdout" left={left.stdout} right={right.stdout} />
      <Differences title="stderr" left={left.stderr} right={right.stderr} />
    </div>
  );
}

function Outcomes({ left, right }: Compared) {
  const both = [left, right];
  const link = ({ id }: Process) => <a href={`#/processes/${id}`}>Run {id}</a>;
  return (
    <Card flush>
      <Table
        columns={["What", ...both.map(link)]}
        rows={[
          ["Outcome", ...both.map((process) => <StateChip key={process.id} process={process} />)],
          ["Ran", ...both.map(({ usage }) => formatMs(usage.wallMs))],
          ["CPU time", ...both.map(({ usage }) => formatMs(usage.cpuMs))],
          ["Peak memory", ...both.map(({ usage }) => formatBytes(usage.peakMemoryBytes))],
          ["Tool calls", ...both.map(({ usage }) => usage.toolCalls)],
          ["Error", ...both.map(({ error }) => <Plain key={error} text={error ?? "–"} />)],
        ]}
      />
    </Card>
  );
}

function Differences({ title, left, right }: { title: string; left: string; right: string }) {
  if (left === right) {
    return (
      <Card title={title}>
        <p class="muted">{left === "" ? "Both empty." : "Identical."}</p>
      </Card>
    );
  }
  // Undefined if the texts have too little in common.
  const parts = diffLines(left, right, { maxEditLength: MAX_EDITS }) ?? [
    { value: left, added: false, removed: true },
    { value: right, added: true, removed: false },
  ];
  const lines = parts.flatMap(({ value, added, removed }) =>
    value
      .replace(/\n$/, "")
      .split("\n")
      .map((text) => ({ text, sign: added ? ("+" as const) : removed ? ("-" as const) : (" " as const) })),
  );
  return (
    <Card title={title} flush>
      <Changes lines={lines} maxCharacters={MAX_CHARACTERS} />
      {lines.length > MAX_LINES ? <p class="small">… {lines.length - MAX_LINES} more lines</p> : null}
    </Card>
  );
}
