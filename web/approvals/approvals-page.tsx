/** The inbox: what waits for a person, and what was decided. */

import { useState } from "preact/hooks";
import { unwrap } from "#client/errors.ts";
import { describeOrigin } from "#client/visible-text.ts";
import { Card, Empty, Loading, PageHead } from "../parts/basics.tsx";
import { Failure } from "../parts/failure.tsx";
import { CheckField, SelectField } from "../parts/field.tsx";
import { Inbox } from "../parts/icons.tsx";
import { Plain } from "../parts/json-tree.tsx";
import { Ago } from "../parts/moment.tsx";
import { Settled } from "../parts/settled.tsx";
import { type ApprovalSummary, client } from "../server/api.ts";
import { useOnChange } from "../server/use-on-change.ts";
import { useResource } from "../server/use-resource.ts";
import { approvalChanges, playsSound } from "../server/waiting-approvals.ts";
import { PendingApproval } from "./pending-approval.tsx";

const STATES = [
  ["pending", "Waiting"],
  ["approved", "Approved"],
  ["denied", "Denied"],
  ["expired", "Expired"],
] as const;
type State = (typeof STATES)[number][0];

const LOOKS: Record<State, string> = { pending: "wait", approved: "good", denied: "bad", expired: "" };

export default function ApprovalsPage() {
  const [state, setState] = useState<State>("pending");
  const { data, error, reload } = useResource(
    async (signal) =>
      unwrap(await client.value.GET("/approvals", { params: { query: { state, limit: "50" } }, signal }))
        .approvals,
    [state],
  );
  useOnChange(approvalChanges, reload);
  return (
    <>
      <PageHead
        title="Approvals"
        about="Calls that a rule stops, and questions of scripts, until a person decides."
      />
      <div class="filters">
        <SelectField
          label="Show"
          value={state}
          options={STATES}
          onChange={(next) => setState(next as State)}
        />
        <CheckField
          label="Sound when one comes in"
          checked={playsSound.value}
          onChange={(on) => {
            playsSound.value = on;
          }}
        />
      </div>
      <Failure error={error} retry={reload} />
      {data === null ? error === null ? <Loading /> : null : <Listing approvals={data} state={state} />}
    </>
  );
}

function Listing({ approvals, state }: { approvals: readonly ApprovalSummary[]; state: State }) {
  if (approvals.length === 0) {
    return (
      <Card>
        <Empty icon={Inbox} title={state === "pending" ? "Nothing waits for you" : "None"}>
          <p>
            {state === "pending"
              ? "When a rule says ask, the call waits here with its parameters, and its run stands still meanwhile."
              : "No approval ended this way."}
          </p>
          {state === "pending" ? (
            <div class="row">
              <a class="button small" href="#/policies">
                Rules
              </a>
            </div>
          ) : null}
        </Empty>
      </Card>
    );
  }
  if (state === "pending") {
    return (
      <Settled>
        {approvals.map(({ id }) => (
          <PendingApproval key={id} id={id} linked />
        ))}
      </Settled>
    );
  }
  return (
    <Card flush>
      <ul class="list">
        {approvals.map((approval) => (
          <li key={approval.id} class="list-row">
            <div class="list-main">
              <a href={`#/processes/${approval.processId}`}>
                {approval.kind === "ask" ? "Question" : `${approval.serviceId}.${approval.toolId}`}
              </a>
              <p class="clamp">
                <Plain text={approval.reason ?? `${describeOrigin(approval)}: ${approval.message}`} />
              </p>
            </div>
            <div class="list-side">
              <span class={`chip ${LOOKS[approval.state]}`}>{approval.state}</span>
              <span>{approval.decidedBy ?? ""}</span>
              <Ago at={approval.decidedAt ?? approval.createdAt} />
            </div>
          </li>
        ))}
      </ul>
    </Card>
  );
}
