/** One approval: who wants to make which call with which parameters, what differs from before, and the decision. */
import { lazy, Suspense } from "preact/compat";
import { useMemo, useState } from "preact/hooks";
import { describeCall, describeOrigin, visibleJson, visibleText } from "#client/visible-text.ts";
import { useAction } from "../parts/action.tsx";
import { Button } from "../parts/controls.tsx";
import { Failure, Loaded, Loading } from "../parts/failure.tsx";
import { SelectField, TextField, useFields } from "../parts/fields.tsx";
import { Ago, count, In } from "../parts/format.tsx";
import { Icon } from "../parts/icons.tsx";
import { JsonTree, Plain } from "../parts/json-tree.tsx";
import { type Approval, post, useGet } from "../server/api.ts";
import { DifferencesFromBefore } from "./changes.tsx";

const SchemaForm = lazy(() => import("../forms/schema-form.tsx"));

const REMEMBER = [
  ["", "Only this call"],
  ["process:", "This tool, for the rest of this run"],
  ["tool:15", "This tool, for 15 minutes"],
  ["tool:60", "This tool, for an hour"],
  ["tool:480", "This tool, for 8 hours"],
] as const;

interface PendingApprovalProps {
  id: string;
  /** True to show which process the approval belongs to. */
  linked?: boolean;
}

/** Reads the approval once: its request never changes, and its parent removes it after the decision. */
export function PendingApproval({ id, linked = false }: PendingApprovalProps) {
  const approval = useGet("/approvals/{id}", { params: { path: { id } } }, "until loaded");
  return (
    <Loaded resource={approval}>
      {(data) => <ApprovalCard approval={data} linked={linked} onDecided={approval.reload} />}
    </Loaded>
  );
}

interface ApprovalCardProps {
  approval: Approval;
  linked: boolean;
  onDecided: () => void;
}

function ApprovalCard({ approval, linked, onDecided }: ApprovalCardProps) {
  const isAsk = approval.kind === "ask";
  const [showsAll, setAll] = useState(false);
  const call = describeCall(approval);
  const isWhole = showsAll || sizeOf(approval.parameters) <= MAX_AT_ONCE;
  const path = isAsk ? "Question from the script" : `${approval.serviceId}.${approval.toolId}`;
  return (
    <article class="card" aria-label={`Approval: ${path}`}>
      <div class="card-head">
        <div class="row">
          {isAsk ? <Icon name="message-circle-question" size={17} /> : <Icon name="hand" size={17} />}
          <h2 class={isAsk ? "" : "mono"}>{path}</h2>
          {approval.destructive ? (
            <span class="chip bad plain">
              <Icon name="triangle-alert" size={13} /> destructive
            </span>
          ) : null}
        </div>
        <span class="muted small">
          {linked ? (
            <>
              <a href={`#/processes/${approval.processId}`}>Run {approval.processId}</a> ·{" "}
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
            {call === null ? null : <p class="wrap">{call}</p>}
            <h3>Parameters</h3>
            <Parameters value={approval.parameters} isWhole={isWhole} showAll={() => setAll(true)} />
            <Files files={approval.files} />
            <DifferencesFromBefore approval={approval} />
          </div>
        )}
        {approval.state !== "pending" ? (
          <p class="row small muted">
            <StateOfApproval state={approval.state} />
            {approval.decidedBy === null ? null : `by ${approval.decidedBy}`}
            {approval.reason === null ? null : `: ${approval.reason}`}
          </p>
        ) : isWhole ? (
          <Decision approval={approval} onDecided={onDecided} />
        ) : (
          <p class="muted">Show everything to decide.</p>
        )}
      </div>
    </article>
  );
}

const LOOKS = { pending: "wait", approved: "good", denied: "bad", expired: "" };

export function StateOfApproval({ state }: Pick<Approval, "state">) {
  return <span class={`chip ${LOOKS[state]}`}>{state}</span>;
}

/** Longer parameters must be expanded in full before the approver can decide. */
const MAX_AT_ONCE = 20_000;

function sizeOf(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}

interface ParametersProps {
  value: unknown;
  isWhole: boolean;
  showAll: () => void;
}

/** Shows everything in order, nothing folded: a script must not be able to choose what is out of sight. */
function Parameters({ value, isWhole, showAll }: ParametersProps) {
  if (isWhole) return <Asked value={value} />;
  return (
    <>
      <JsonTree value={value} />
      <div>
        <Button look="small" onClick={showAll}>
          Show all {count(sizeOf(value), "character")}
        </Button>
      </div>
    </>
  );
}

/** The approved call sends exactly these contents. */
function Files({ files }: Pick<Approval, "files">) {
  if (files.length === 0) return null;
  return (
    <>
      <h3>Files sent</h3>
      <ul class="stack tight">
        {files.map(({ name, size, sha256 }) => (
          <li key={name} class="wrap">
            <Plain text={JSON.stringify(name)} />, {count(size, "byte")},{" "}
            <span class="mono small">sha256 {sha256}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

function Asked({ value }: { value: unknown }) {
  return (
    <pre class="asked">
      <Plain text={JSON.stringify(value, null, 2)} />
    </pre>
  );
}

function Decision({ approval, onDecided }: { approval: Approval; onDecided: () => void }) {
  const { values, field } = useFields({ remember: "", reason: "", words: "" });
  const [answer, setAnswer] = useState<unknown>(undefined);
  const action = useAction();
  const params = { path: { id: approval.id } };
  const isAsk = approval.kind === "ask";
  const asked = approval.schema as Record<string, unknown> | null;
  const schema = useMemo(() => (asked === null ? null : visibleForm(asked)), [asked]);

  const approve = () =>
    action.run(async () => {
      const { remember, words } = values;
      const [scope, minutes] = remember.split(":");
      const body = {
        ...(isAsk && { data: schema === null ? readWords(words) : answer }),
        ...(remember !== "" && {
          remember: { for: scope as "process" | "tool", ...(minutes !== "" && { minutes: Number(minutes) }) },
        }),
      };
      await post("/approvals/{id}/approve", { params, body });
      onDecided();
    });
  const deny = () =>
    action.run(async () => {
      const { reason } = values;
      await post("/approvals/{id}/deny", { params, body: reason === "" ? {} : { reason } });
      onDecided();
    });

  return (
    <div class="stack">
      {isAsk && asked !== null && schema === null ? <Asked value={asked} /> : null}
      {isAsk && schema !== null ? (
        <Suspense fallback={<Loading />}>
          <SchemaForm schema={schema} value={answer} onChange={setAnswer} />
        </Suspense>
      ) : null}
      <div class="fields">
        {isAsk && schema === null ? (
          <TextField
            label="Your answer"
            {...field("words")}
            placeholder="Text or JSON"
            hint="Leave empty to answer true"
          />
        ) : null}
        {isAsk ? null : <SelectField label="Approve" options={REMEMBER} {...field("remember")} />}
        <TextField label="Reason for denying" {...field("reason")} placeholder="Shown to the script" />
      </div>
      <Failure error={action.error} />
      <div class="row apart">
        <span class="muted small">
          expires <In at={approval.expiresAt} />
        </span>
        <div class="row">
          <Button look="danger" disabled={action.isBusy} onClick={deny}>
            Deny
          </Button>
          <Button look="primary" disabled={action.isBusy} onClick={approve}>
            {isAsk ? "Answer" : "Approve"}
          </Button>
        </div>
      </div>
    </div>
  );
}

/**
 * Returns the schema with hidden characters in its texts made visible. Null if names or values have any, because the
 * response would have to repeat them.
 */
function visibleForm(schema: Record<string, unknown>): Record<string, unknown> | null {
  const mapTexts = (change: (text: string) => string) =>
    JSON.stringify(schema, (key, value: unknown) =>
      (key === "title" || key === "description") && typeof value === "string" ? change(value) : value,
    );
  const bare = mapTexts(() => "");
  return visibleJson(JSON.parse(bare)) === bare ? JSON.parse(mapTexts(visibleText)) : null;
}

/** Reads the response to a question without a schema: JSON if it parses, otherwise text. */
function readWords(text: string): unknown {
  if (text === "") return true;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
