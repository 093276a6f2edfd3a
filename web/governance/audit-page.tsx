/** The audit trail: who did what to which object, and how it went. */

import { useState } from "preact/hooks";
import { CyrnelError, unwrap } from "#client/errors.ts";
import { useAction } from "../parts/action.ts";
import { Card, Empty, Loading, PageHead } from "../parts/basics.tsx";
import { Failure } from "../parts/failure.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { Fold } from "../parts/fold.tsx";
import { formatTime } from "../parts/format.ts";
import { Download, ShieldCheck } from "../parts/icons.tsx";
import { JsonTree, Plain } from "../parts/json-tree.tsx";
import { type AuditRecord, client, fetchPath } from "../server/api.ts";
import { useResource } from "../server/use-resource.ts";

const OUTCOMES = [
  ["", "All outcomes"],
  ["ok", "Done"],
  ["refused", "Refused"],
  ["failed", "Failed"],
] as const;
const LOOKS: Record<string, string> = { ok: "good", refused: "wait", failed: "bad" };
const PAGE = "100";
const REFRESH_MS = 5000;

export default function AuditPage() {
  const [action, setAction] = useState("");
  const [processId, setProcessId] = useState("");
  const [outcome, setOutcome] = useState("");
  const [cursor, setCursor] = useState<string | null>(null);
  const query = {
    ...(action.trim() !== "" && { action: action.trim() }),
    ...(/^\d+$/.test(processId.trim()) && { processId: processId.trim() }),
    ...(outcome !== "" && { outcome: outcome as "ok" }),
  };
  const { data, error, reload } = useResource(
    async (signal) =>
      unwrap(
        await client.value.GET("/audit", {
          params: { query: { ...query, limit: PAGE, ...(cursor !== null && { cursor }) } },
          signal,
        }),
      ),
    [action, processId, outcome, cursor],
    cursor === null ? REFRESH_MS : undefined,
  );
  const exporting = useAction();
  const save = () =>
    void exporting.run(async () => {
      const response = await fetchPath(`/audit/export?${new URLSearchParams(query)}`);
      if (!response.ok) throw new CyrnelError(response, await response.json().catch(() => null));
      const url = URL.createObjectURL(await response.blob());
      Object.assign(document.createElement("a"), { href: url, download: "audit.jsonl" }).click();
      URL.revokeObjectURL(url);
    });
  const narrow = (set: (value: string) => void) => (value: string) => {
    set(value);
    setCursor(null);
  };
  return (
    <>
      <PageHead
        title="Audit"
        about="What was done and by whom. Records are added, never changed, and kept as long as the server is set to keep them."
      >
        <button type="button" class="button" disabled={exporting.isBusy} onClick={save}>
          <Download /> Export
        </button>
      </PageHead>
      <search class="filters">
        <TextField
          label="Action"
          value={action}
          onInput={narrow(setAction)}
          placeholder="tool.call or key.*"
        />
        <TextField label="Process" value={processId} onInput={narrow(setProcessId)} placeholder="id" />
        <SelectField label="Outcome" value={outcome} options={OUTCOMES} onChange={narrow(setOutcome)} />
      </search>
      <div class="stack">
        <Failure error={exporting.error ?? error} retry={reload} />
        {data === null ? (
          error === null ? (
            <Loading />
          ) : null
        ) : (
          <Card flush>
            {data.records.length === 0 ? (
              <Empty icon={ShieldCheck} title="No record" />
            ) : (
              <ul class="list">
                {data.records.map((record) => (
                  <Row key={record.id} record={record} />
                ))}
              </ul>
            )}
          </Card>
        )}
        <div class="row" style={{ justifyContent: "center" }}>
          {cursor === null ? null : (
            <button type="button" class="button" onClick={() => setCursor(null)}>
              Newest
            </button>
          )}
          {data?.nextCursor ? (
            <button type="button" class="button" onClick={() => setCursor(data.nextCursor)}>
              Older
            </button>
          ) : null}
        </div>
      </div>
    </>
  );
}

function Row({ record }: { record: AuditRecord }) {
  const { at, actor, action, object, outcome, code, decision, parameters, requestId, processId } = record;
  return (
    <li>
      <Fold
        summaryClass="list-row"
        summary={
          <>
            <span class="list-main">
              <span class="mono">{action}</span>{" "}
              {object === null ? null : (
                <span class="muted wrap">
                  {object.kind} <Plain text={object.id ?? ""} />
                </span>
              )}
            </span>
            <span class="list-side">
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
        }
      >
        {() => (
          <div class="card-body stack tight">
            <p class="small muted wrap">
              {processId === null ? null : (
                <>
                  <a href={`#/processes/${processId}`}>Process {processId}</a> ·{" "}
                </>
              )}
              request <code>{requestId ?? "–"}</code>
            </p>
            {parameters === null || parameters === undefined ? null : <JsonTree value={parameters} />}
          </div>
        )}
      </Fold>
    </li>
  );
}
