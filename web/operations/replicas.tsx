/** Replicas on the same database: their versions, and when each was last seen. */
import { Loaded } from "../parts/failure.tsx";
import { Ago } from "../parts/format.tsx";
import { Plain } from "../parts/json-tree.tsx";
import { Card, Row } from "../parts/layout.tsx";
import { ALL, type Replica, useGet } from "../server/api.ts";

const REFRESH_MS = 5000;
const STATES: Record<Replica["state"], { look: string; meaning: string }> = {
  up: { look: "good", meaning: "Seen a moment ago." },
  draining: { look: "wait", meaning: "Stopping: it finishes its runs and accepts no new ones." },
  lost: {
    look: "bad",
    meaning: "Lost: its runs were ended, or are replayed on another replica.",
  },
};

export function Replicas() {
  const replicas = useGet("/replicas", ALL, REFRESH_MS);
  const known = replicas.data?.replicas ?? [];
  const running = known.reduce((sum, replica) => sum + replica.running, 0);
  const slots = known.reduce((sum, { state, slots }) => sum + (state === "up" ? (slots ?? 0) : 0), 0);
  const load = (
    <span class="muted small number">
      {running} running, {slots} slots
    </span>
  );
  return (
    <Card title="Replicas" flush side={replicas.data === null ? null : load}>
      <Loaded resource={replicas}>
        {() => (
          <ol class="list">
            {known.map((replica) => (
              <ReplicaRow key={replica.id} replica={replica} />
            ))}
          </ol>
        )}
      </Loaded>
    </Card>
  );
}

function ReplicaRow({ replica }: { replica: Replica }) {
  const { name, isSelf, address, environment, version, startedAt, seenAt, slots, running, state } = replica;
  return (
    <Row
      side={
        <>
          <span class="number">{slots === null ? running : `${running} of ${slots}`} running</span>
          <span>
            seen <Ago at={seenAt} />
          </span>
          <span class={`chip ${STATES[state].look}`} title={STATES[state].meaning}>
            {state}
          </span>
        </>
      }
    >
      <span class="mono">
        <Plain text={name} />
      </span>{" "}
      {isSelf ? <span class="muted">this replica</span> : null}
      <p>
        {environment ?? "no environment"} · {version} · started <Ago at={startedAt} />
        <Plain text={address === null ? "" : ` · ${address}`} />
      </p>
    </Row>
  );
}
