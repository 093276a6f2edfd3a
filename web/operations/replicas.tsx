/** The servers on the same database: which are there, what they run, and when each was heard of. */
import { unwrap } from "#client/errors.ts";
import { Card, Loading } from "../parts/basics.tsx";
import { Failure } from "../parts/failure.tsx";
import { Plain } from "../parts/json-tree.tsx";
import { Ago } from "../parts/moment.tsx";
import { client, type Replica } from "../server/api.ts";
import { useResource } from "../server/use-resource.ts";

const REFRESH_MS = 5000;
const LOOKS: Record<Replica["state"], string> = { up: "good", draining: "wait", lost: "bad" };
const MEANINGS: Record<Replica["state"], string> = {
  up: "It was heard of a moment ago.",
  draining: "It was told to stop: it ends what it runs and takes nothing more.",
  lost: "It has been silent for too long. What it ran was ended, or is repeated elsewhere.",
};

export function Replicas() {
  const { data, error, reload } = useResource(
    async (signal) =>
      unwrap(await client.value.GET("/replicas", { params: { query: { limit: "200" } }, signal })).replicas,
    [],
    REFRESH_MS,
  );
  const running = data?.reduce((sum, replica) => sum + replica.running, 0) ?? 0;
  const slots =
    data?.filter(({ state }) => state === "up").reduce((sum, one) => sum + (one.slots ?? 0), 0) ?? 0;
  return (
    <Card
      title="Servers on this database"
      flush
      side={
        data === null ? null : (
          <span class="muted small number">
            {running} running, {slots} slots
          </span>
        )
      }
    >
      <Failure error={error} retry={reload} />
      {data === null ? error === null ? <Loading /> : null : <Servers replicas={data} />}
    </Card>
  );
}

function Servers({ replicas }: { replicas: readonly Replica[] }) {
  return (
    <ul class="list">
      {replicas.map(({ id, name, isSelf, address, environment, version, startedAt, ...replica }) => (
        <li key={id} class="list-row">
          <div class="list-main">
            <span class="mono">
              <Plain text={name} />
            </span>{" "}
            {isSelf ? <span class="muted">this one</span> : null}
            <p>
              {environment ?? "no environment"} · {version} · started <Ago at={startedAt} />
              {address === null ? null : (
                <>
                  {" "}
                  · <Plain text={address} />
                </>
              )}
            </p>
          </div>
          <div class="list-side">
            <span class="number">
              {replica.slots === null ? replica.running : `${replica.running} of ${replica.slots}`} running
            </span>
            <span>
              heard of <Ago at={replica.seenAt} />
            </span>
            <span class={`chip ${LOOKS[replica.state]}`} title={MEANINGS[replica.state]}>
              {replica.state}
            </span>
          </div>
        </li>
      ))}
    </ul>
  );
}
