/** What is different from the last approved call of the same tool: the eye finds the odd one among many alike. */
import { unwrap } from "#client/errors.ts";
import { Plain } from "../parts/json-tree.tsx";
import { type Approval, client } from "../server/api.ts";
import { useResource } from "../server/use-resource.ts";
import { type Change, listChanges, MAX_CHANGES } from "./changes.ts";

const LOOKED_AT = 20;
const MAX_VALUE_CHARACTERS = 300;

async function readEarlier(approval: Approval, signal: AbortSignal): Promise<Approval | null> {
  if (approval.serviceId === null) return null;
  const { approvals } = unwrap(
    await client.value.GET("/approvals", {
      params: { query: { state: "approved", serviceId: approval.serviceId, limit: String(LOOKED_AT) } },
      signal,
    }),
  );
  const earlier = approvals.find(({ id, toolId }) => toolId === approval.toolId && id !== approval.id);
  if (earlier === undefined) return null;
  return unwrap(await client.value.GET("/approvals/{id}", { params: { path: { id: earlier.id } }, signal }));
}

export function DifferencesFromBefore({ approval }: { approval: Approval }) {
  const isPending = approval.state === "pending";
  const { data: earlier } = useResource(
    async (signal) => (isPending ? readEarlier(approval, signal) : null),
    [approval.id, isPending],
    "until loaded",
  );
  if (earlier === null) return null;
  const changes = listChanges(earlier.parameters, approval.parameters);
  return (
    <details open={changes.length > 0}>
      <summary class="small muted">
        {changes.length === 0
          ? "The same parameters as in the call approved before"
          : `Different from the call approved before (by ${earlier.decidedBy ?? "?"})`}
      </summary>
      <ul class="changes">
        {changes
          .flatMap((change) => lines(change).map((line) => ({ ...line, path: change.path })))
          .map((line) => (
            <li key={line.sign + line.path} class={line.sign === "+" ? "added" : "removed"}>
              <Plain text={`${line.sign} ${line.path || "/"}  ${line.text}`} />
            </li>
          ))}
      </ul>
      {changes.length === MAX_CHANGES ? (
        <p class="small muted">These are the first {MAX_CHANGES}; there may be more.</p>
      ) : null}
    </details>
  );
}

function lines(change: Change): { sign: "+" | "-"; text: string }[] {
  return [
    ...("before" in change ? [{ sign: "-" as const, text: show(change.before) }] : []),
    ...("after" in change ? [{ sign: "+" as const, text: show(change.after) }] : []),
  ];
}

/** Whole or not at all: two that begin alike would look the same. */
function show(value: unknown): string {
  const text = JSON.stringify(value) ?? "undefined";
  return text.length > MAX_VALUE_CHARACTERS ? `(${text.length} characters: see the parameters)` : text;
}
