/** Two processes side by side: what differs between their sources, outcomes and output. */
import { diffLines } from "diff";
import { unwrap } from "#client/errors.ts";
import { type Change, listChanges } from "../approvals/changes.ts";
import { Card, Loading, PageHead } from "../parts/basics.tsx";
import { Failure } from "../parts/failure.tsx";
import { formatBytes, formatMs } from "../parts/format.ts";
import { JsonTree, Plain } from "../parts/json-tree.tsx";
import { StateChip } from "../runs/outcome.tsx";
import { client, type Process } from "../server/api.ts";
import { useResource } from "../server/use-resource.ts";

const MAX_LINES = 2000;
const MAX_EDITS = 2000;
const MAX_LINE_CHARACTERS = 2000;

export default function ComparePage({ one, other }: { one: string; other: string }) {
  const { data, error, reload } = useResource(
    (signal) => Promise.all([readProcess(one, signal), readProcess(other, signal)]),
    [one, other],
  );
  return (
    <>
      <PageHead title={`Process ${one} and ${other}`} back={{ href: "#/processes", label: "Processes" }} />
      <Failure error={error} retry={reload} />
      {data === null ? error === null ? <Loading /> : null : <Comparison left={data[0]} right={data[1]} />}
    </>
  );
}

async function readProcess(id: string, signal: AbortSignal): Promise<Process> {
  return unwrap(await client.value.GET("/processes/{id}", { params: { path: { id } }, signal }));
}

function Comparison({ left, right }: { left: Process; right: Process }) {
  const rows = [
    ["Outcome", <StateChip key="l" process={left} />, <StateChip key="r" process={right} />],
    ["Ran", formatMs(left.usage.wallMs), formatMs(right.usage.wallMs)],
    ["Processor", formatMs(left.usage.cpuMs), formatMs(right.usage.cpuMs)],
    ["Peak memory", formatBytes(left.usage.peakMemoryBytes), formatBytes(right.usage.peakMemoryBytes)],
    ["Tool calls", left.usage.toolCalls, right.usage.toolCalls],
    ["Error", left.error ?? "–", right.error ?? "–"],
  ] as const;
  const results = listChanges(left.result, right.result);
  return (
    <div class="stack">
      <Card flush>
        <table class="table">
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col">
                <a href={`#/processes/${left.id}`}>Process {left.id}</a>
              </th>
              <th scope="col">
                <a href={`#/processes/${right.id}`}>Process {right.id}</a>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map(([name, one, other]) => (
              <tr key={name}>
                <th scope="row" class="fit">
                  {name}
                </th>
                <td>{one}</td>
                <td>{other}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Card>
      <Card title="Result">
        {results.length === 0 ? (
          <>
            <p class="muted">The same.</p>
            <JsonTree value={left.result} />
          </>
        ) : (
          <ul class="changes">
            {results.flatMap((change) => [
              "before" in change ? <Changed key={`-${change.path}`} sign="-" change={change} /> : null,
              "after" in change ? <Changed key={`+${change.path}`} sign="+" change={change} /> : null,
            ])}
          </ul>
        )}
      </Card>
      <Lines title="Source" left={left.code} right={right.code} />
      <Lines title="stdout" left={left.stdout} right={right.stdout} />
      <Lines title="stderr" left={left.stderr} right={right.stderr} />
    </div>
  );
}

function Changed({ sign, change }: { sign: "+" | "-"; change: Change }) {
  const value = sign === "-" ? change.before : change.after;
  return (
    <li class={sign === "+" ? "added" : "removed"}>
      <Plain text={shorten(`${sign} ${change.path || "/"}  ${JSON.stringify(value)}`)} />
    </li>
  );
}

function Lines({ title, left, right }: { title: string; left: string; right: string }) {
  if (left === right) {
    return (
      <Card title={title}>
        <p class="muted">{left === "" ? "Both empty." : "The same."}</p>
      </Card>
    );
  }
  // Undefined where the two have too little in common.
  const parts = diffLines(left, right, { maxEditLength: MAX_EDITS }) ?? [
    { value: left, added: false, removed: true },
    { value: right, added: true, removed: false },
  ];
  const lines = parts.flatMap(({ value, added, removed }) =>
    value
      .replace(/\n$/, "")
      .split("\n")
      .map((text) => ({ text, sign: added ? "+" : removed ? "-" : " " })),
  );
  return (
    <Card title={title} flush>
      <ol class="changes">
        {lines.slice(0, MAX_LINES).map(({ text, sign }, index) => (
          <li key={index} class={CLASSES[sign] ?? ""}>
            <Plain text={shorten(`${sign} ${text}`)} />
          </li>
        ))}
        {lines.length > MAX_LINES ? <li>… {lines.length - MAX_LINES} more lines</li> : null}
      </ol>
    </Card>
  );
}

function shorten(line: string): string {
  return line.length > MAX_LINE_CHARACTERS ? `${line.slice(0, MAX_LINE_CHARACTERS)}…` : line;
}

const CLASSES: Record<string, string> = { "+": "added", "-": "removed" };
