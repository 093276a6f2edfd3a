/** One approval: who wants what with which parameters, what differs from before, and the decision. */

import { lazy, Suspense } from "preact/compat";
import { useState } from "preact/hooks";
import { unwrap } from "#client/errors.ts";
import { describeOrigin, visibleJson, visibleText } from "#client/visible-text.ts";
import { useAction } from "../parts/action.ts";
import { Loading } from "../parts/basics.tsx";
import { Failure } from "../parts/failure.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { count } from "../parts/format.ts";
import { Hand, MessageCircleQuestion, TriangleAlert } from "../parts/icons.tsx";
import { JsonTree, Plain } from "../parts/json-tree.tsx";
import { Ago, In } from "../parts/moment.tsx";
import { type Approval, client } from "../server/api.ts";
import { useResource } from "../server/use-resource.ts";
import { DifferencesFromBefore } from "./differences.tsx";

const SchemaForm = lazy(() => import("../forms/schema-form.tsx"));

const REMEMBER = [
  ["", "Only this call"],
  ["process:", "This tool, for the rest of this process"],
  ["tool:15", "This tool, for 15 minutes"],
  ["tool:60", "This tool, for an hour"],
  ["tool:480", "This tool, for 8 hours"],
] as const;

/** For as long as it waits: what it asks for does not change, and once it is decided, who shows it takes it away. */
export function PendingApproval({ id, linked = false }: { id: string; linked?: boolean }) {
  const { data, error, reload } = useResource(
    async (signal) => unwrap(await client.value.GET("/approvals/{id}", { params: { path: { id } }, signal })),
    [id],
    "until loaded",
  );
  if (data === null) return error === null ? <Loading /> : <Failure error={error} retry={reload} />;
  return <ApprovalCard approval={data} linked={linked} onDecided={reload} />;
}

function ApprovalCard({
  approval,
  linked,
  onDecided,
}: {
  approval: Approval;
  linked: boolean;
  onDecided: () => void;
}) {
  const isAsk = approval.kind === "ask";
  const [showsAll, setAll] = useState(false);
  const isWhole = showsAll || sizeOf(approval.parameters) <= MAX_AT_ONCE;
  const path = isAsk ? "A question of the script" : `${approval.serviceId}.${approval.toolId}`;
  return (
    <article class="card" aria-label={`Approval: ${path}`}>
      <div class="card-head">
        <div class="row">
          {isAsk ? <MessageCircleQuestion size={17} /> : <Hand size={17} />}
          <h2 class={isAsk ? "" : "mono"}>{path}</h2>
          {approval.destructive ? (
            <span class="chip bad plain">
              <TriangleAlert size={13} /> destructive
            </span>
          ) : null}
        </div>
        <span class="muted small">
          {linked ? (
            <>
              <a href={`#/processes/${approval.processId}`}>Process {approval.processId}</a> ·{" "}
            </>
          ) : null}
          asked <Ago at={approval.createdAt} />
          {approval.startedBy === approval.requestedBy ? null : `, run by ${approval.startedBy}`}
        </span>
      </div>
      <div class="card-body stack">
        <p class="wrap">{describeOrigin(approval)}:</p>
        {isAsk ? (
          <blockquote class="asked">
            <Plain text={approval.message} />
          </blockquote>
        ) : (
          <div class="stack tight">
            <h3>Parameters</h3>
            <Parameters value={approval.parameters} isWhole={isWhole} showAll={() => setAll(true)} />
            <DifferencesFromBefore approval={approval} />
          </div>
        )}
        {approval.state !== "pending" ? (
          <Decided approval={approval} />
        ) : isWhole ? (
          <Decision approval={approval} onDecided={onDecided} />
        ) : (
          <p class="muted">It can be decided once all of it is shown.</p>
        )}
      </div>
    </article>
  );
}

/** Longer parameters have to be shown whole, by a click, before they can be decided. */
const MAX_AT_ONCE = 20_000;

function sizeOf(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}

/** All of it in its order, nothing folded: what a script may choose is not what is out of sight. */
function Parameters({ value, isWhole, showAll }: { value: unknown; isWhole: boolean; showAll: () => void }) {
  if (isWhole) {
    return (
      <pre class="asked">
        <Plain text={JSON.stringify(value, null, 2)} />
      </pre>
    );
  }
  return (
    <>
      <JsonTree value={value} />
      <div>
        <button type="button" class="button small" onClick={showAll}>
          Show all {count(sizeOf(value), "character")}
        </button>
      </div>
    </>
  );
}

function Decided({ approval }: { approval: Approval }) {
  const look = approval.state === "approved" ? "good" : approval.state === "denied" ? "bad" : "";
  return (
    <p class="row small muted">
      <span class={`chip ${look}`}>{approval.state}</span>
      {approval.decidedBy === null ? null : `by ${approval.decidedBy}`}
      {approval.reason === null ? null : `: ${approval.reason}`}
    </p>
  );
}

function Decision({ approval, onDecided }: { approval: Approval; onDecided: () => void }) {
  const [remember, setRemember] = useState("");
  const [reason, setReason] = useState("");
  const [answer, setAnswer] = useState<unknown>(undefined);
  const [words, setWords] = useState("");
  const action = useAction();
  const params = { path: { id: approval.id } };
  const isAsk = approval.kind === "ask";
  const asked = approval.schema as Record<string, unknown> | null;
  const schema = asked === null ? null : visibleForm(asked);

  const approve = () =>
    action
      .run(async () => {
        const [scope, minutes] = remember.split(":");
        const body = {
          ...(isAsk && { data: schema === null ? readWords(words) : answer }),
          ...(remember !== "" && {
            remember: {
              for: scope as "process" | "tool",
              ...(minutes !== "" && { minutes: Number(minutes) }),
            },
          }),
        };
        unwrap(await client.value.POST("/approvals/{id}/approve", { params, body }));
      })
      .then((isDone) => isDone && onDecided());
  const deny = () =>
    action
      .run(async () =>
        unwrap(
          await client.value.POST("/approvals/{id}/deny", { params, body: reason === "" ? {} : { reason } }),
        ),
      )
      .then((isDone) => isDone && onDecided());

  return (
    <div class="stack">
      {isAsk && asked !== null && schema === null ? (
        <pre class="asked">
          <Plain text={JSON.stringify(asked, null, 2)} />
        </pre>
      ) : null}
      {isAsk && schema !== null ? (
        <Suspense fallback={<Loading />}>
          <SchemaForm schema={schema} value={answer} onChange={setAnswer} />
        </Suspense>
      ) : null}
      <div class="fields">
        {isAsk && schema === null ? (
          <TextField
            label="Your answer"
            value={words}
            onInput={setWords}
            placeholder="Words or JSON"
            hint="Empty: yes (true)"
          />
        ) : null}
        {isAsk ? null : (
          <SelectField label="Approve" value={remember} options={REMEMBER} onChange={setRemember} />
        )}
        <TextField
          label="Reason, if you deny"
          value={reason}
          onInput={setReason}
          placeholder="The script is told"
        />
      </div>
      <Failure error={action.error} />
      <div class="row apart">
        <span class="muted small">
          expires <In at={approval.expiresAt} />
        </span>
        <div class="row">
          <button type="button" class="button danger" disabled={action.isBusy} onClick={deny}>
            Deny
          </button>
          <button type="button" class="button primary" disabled={action.isBusy} onClick={approve}>
            {isAsk ? "Answer" : "Approve"}
          </button>
        </div>
      </div>
    </div>
  );
}

/** With its texts made visible; null where hidden characters are in names or values, which an answer would have to repeat. */
function visibleForm(schema: Record<string, unknown>): Record<string, unknown> | null {
  const texts: string[] = [];
  const bare = JSON.stringify(schema, (key, value: unknown) => {
    if ((key !== "title" && key !== "description") || typeof value !== "string") return value;
    texts.push(value);
    return "";
  });
  if (visibleJson(JSON.parse(bare)) !== bare) return null;
  if (texts.every((text) => visibleText(text) === text)) return schema;
  return JSON.parse(
    JSON.stringify(schema, (key, value: unknown) =>
      (key === "title" || key === "description") && typeof value === "string" ? visibleText(value) : value,
    ),
  );
}

/** What was typed where a question names no schema: JSON if it is any, else the words. */
function readWords(text: string): unknown {
  if (text.trim() === "") return true;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
