import { useState } from "preact/hooks";
import { describeOrigin } from "#client/visible-text.ts";
import { Loaded, Settled } from "../parts/failure.tsx";
import { CheckField, SelectField } from "../parts/fields.tsx";
import { Ago } from "../parts/format.tsx";
import { Plain } from "../parts/json-tree.tsx";
import { Empty, List, PageHead, Row } from "../parts/layout.tsx";
import { useGet, useOnChange } from "../server/api.ts";
import { approvalChanges, playsSound } from "../server/waiting-approvals.ts";
import { PendingApproval, StateOfApproval } from "./pending-approval.tsx";

const STATES = [
  ["pending", "Waiting"],
  ["approved", "Approved"],
  ["denied", "Denied"],
  ["expired", "Expired"],
] as const;
type State = (typeof STATES)[number][0];

export default function ApprovalsPage() {
  const [state, setState] = useState<State>("pending");
  const approvals = useGet("/approvals", { params: { query: { state, limit: "50" } } });
  useOnChange(approvalChanges, approvals.reload);
  return (
    <>
      <PageHead
        title="Approvals"
        about="Calls and questions that wait for your decision. Their runs are paused."
      />
      <div class="filters">
        <SelectField
          label="Show"
          value={state}
          options={STATES}
          onChange={(next) => setState(next as State)}
        />
        <CheckField
          label="Notify with sound"
          checked={playsSound.value}
          onChange={(on) => {
            playsSound.value = on;
          }}
        />
      </div>
      <Loaded resource={approvals}>
        {(data) =>
          state === "pending" && data.approvals.length > 0 ? (
            <Settled>
              {data.approvals.map(({ id }) => (
                <PendingApproval key={id} id={id} linked />
              ))}
            </Settled>
          ) : (
            <List items={data.approvals} empty={<Nothing state={state} />}>
              {(approval) => (
                <Row
                  key={approval.id}
                  side={
                    <>
                      <StateOfApproval state={approval.state} />
                      <span>{approval.decidedBy ?? ""}</span>
                      <Ago at={approval.decidedAt ?? approval.createdAt} />
                    </>
                  }
                >
                  <a href={`#/processes/${approval.processId}`}>
                    {approval.kind === "ask" ? "Question" : `${approval.serviceId}.${approval.toolId}`}
                  </a>
                  <p class="clamp">
                    <Plain text={approval.reason ?? `${describeOrigin(approval)}: ${approval.message}`} />
                  </p>
                </Row>
              )}
            </List>
          )
        }
      </Loaded>
    </>
  );
}

function Nothing({ state }: { state: State }) {
  if (state !== "pending")
    return <Empty icon="inbox" title="None" text="No approvals with this state yet." />;
  return (
    <Empty
      icon="inbox"
      title="No approvals waiting"
      text="When a rule asks, the call appears here with its parameters, and its run pauses until you decide."
    >
      <a class="button small" href="#/policies">
        Rules
      </a>
    </Empty>
  );
}
