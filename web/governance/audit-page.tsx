/** The audit trail: who did what to which object, and the outcome. */
import { useState } from "preact/hooks";
import { useAction } from "../parts/action.tsx";
import { Button } from "../parts/controls.tsx";
import { Loaded } from "../parts/failure.tsx";
import { SelectField, TextField, useFields } from "../parts/fields.tsx";
import { formatTime } from "../parts/format.tsx";
import { JsonTree, Plain } from "../parts/json-tree.tsx";
import { Empty, Fold, List, PageHead } from "../parts/layout.tsx";
import { type AuditRecord, saveAs, useGet } from "../server/api.ts";

const OUTCOMES = [
  ["", "All outcomes"],
  ["ok", "Done"],
  ["refused", "Refused"],
  ["failed", "Failed"],
  ["canceled", "Canceled"],
  ["unknown", "Unknown"],
] as const;
const LOOKS: Record<string, string> = { ok: "good", refused: "wait", failed: "bad", unknown: "bad" };
const REFRESH_MS = 5000;

export default function AuditPage() {
  const { values, field } = useFields({ action: "", processId: "", outcome: "" });
  const { action, processId, outcome } = values;
  const filter = {
    ...(action !== "" && { action }),
    ...(/^\d+$/.test(processId) && { processId }),
    ...(outcome !== "" && { outcome: outcome as "ok" }),
  };
  // A page of records belongs to the filters that selected it.
  const filters = JSON.stringify(filter);
  const [page, setPage] = useState({ filters, cursor: "" });
  const cursor = page.filters === filters ? page.cursor : "";
  const turnTo = (next: string) => setPage({ filters, cursor: next });
  const records = useGet(
    "/audit",
    { params: { query: { ...filter, limit: "100", ...(cursor !== "" && { cursor }) } } },
    cursor === "" ? REFRESH_MS : undefined,
  );
  const exporting = useAction();
  const save = () =>
    exporting.run(() => saveAs(`/audit/export?${new URLSearchParams(filter)}`, "audit.jsonl"));
  return (
    <>
      <PageHead
        title="Audit"
        about="Who did what, and when. Records are never changed; the server's settings say how long they are kept."
      >
        <Button icon="download" disabled={exporting.isBusy} onClick={save}>
          Export
        </Button>
      </PageHead>
      <search class="filters">
        <TextField label="Action" {...field("action")} placeholder="tool.call or key.*" />
        <TextField label="Run" {...field("processId")} placeholder="id" />
        <SelectField label="Outcome" options={OUTCOMES} {...field("outcome")} />
      </search>
      <div class="stack">
        <Loaded resource={records} error={exporting.error}>
          {(data) => (
            <>
              <List items={data.records} empty={<Empty icon="shield-check" title="No records yet" />}>
                {(record) => <RecordRow key={record.id} record={record} />}
              </List>
              <div class="row center">
                {cursor === "" ? null : <Button onClick={() => turnTo("")}>Newest</Button>}
                {data.nextCursor === null ? null : (
                  <Button onClick={() => turnTo(data.nextCursor ?? "")}>Older</Button>
                )}
              </div>
            </>
          )}
        </Loaded>
      </div>
    </>
  );
}

function RecordRow({ record }: { record: AuditRecord }) {
  const { at, actor, action, object, outcome, code, decision, parameters, files, requestId, processId } =
    record;
  const summary = (
    <>
      <span class="list-main">
        <span class="mono">{action}</span>{" "}
        {object === null ? null : (
          <span class="muted wrap">
            {object.kind} <Plain text={object.id ?? ""} />
          </span>
        )}
      </span>
      <span class="row list-side">
        <span>
          <Plain text={actor.name} />
        </span>
        {decision === null ? null : <span class="chip plain">{decision}</span>}
        <span class={`chip ${LOOKS[outcome] ?? ""}`}>{code ?? outcome}</span>
        <time dateTime={at} class="number">
          {formatTime(at)}
        </time>
      </span>
    </>
  );
  return (
    <li>
      <Fold summaryClass="list-row" summary={summary}>
        {() => (
          <div class="card-body stack tight">
            <p class="small muted wrap">
              {processId === null ? null : (
                <>
                  <a href={`#/processes/${processId}`}>Run {processId}</a> ·{" "}
                </>
              )}
              request <code>{requestId ?? "–"}</code>
            </p>
            {parameters === null || parameters === undefined ? null : <JsonTree value={parameters} />}
            {files.length === 0 ? null : <JsonTree value={files} />}
          </div>
        )}
      </Fold>
    </li>
  );
}
