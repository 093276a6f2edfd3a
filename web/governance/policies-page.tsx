/** The rules: which calls are allowed, asked about or blocked. The first that fits decides. */

import { useState } from "preact/hooks";
import { unwrap } from "#client/errors.ts";
import { useAction } from "../parts/action.ts";
import { Card, ConfirmButton, Empty, Loading, PageHead } from "../parts/basics.tsx";
import { Failure } from "../parts/failure.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { count } from "../parts/format.ts";
import { ArrowDown, ArrowUp, ListOrdered } from "../parts/icons.tsx";
import { In } from "../parts/moment.tsx";
import { client, type Policy, type Role } from "../server/api.ts";
import { useResource } from "../server/use-resource.ts";
import { readRoles } from "./roles.ts";

const DECISIONS = [
  ["allow", "Allow"],
  ["ask", "Ask a person"],
  ["block", "Block"],
] as const;
type Decision = (typeof DECISIONS)[number][0];

/** Among the ids of roles. */
const NO_ROLE = "none";

const LOOKS: Record<Decision, string> = { allow: "good", ask: "wait", block: "bad" };
const DEFAULT_WORDS: Record<string, string> = {
  allow: "is allowed",
  "ask-destructive": "is allowed, unless it is destructive: then a person is asked",
  ask: "is put to a person",
  block: "is blocked",
};

export default function PoliciesPage() {
  const { data, error, reload } = useResource(
    async (signal) =>
      unwrap(await client.value.GET("/policies", { params: { query: { limit: "200" } }, signal })),
    [],
  );
  const roles = useResource(readRoles, []);
  const changing = useAction();
  const move = (index: number, by: number) =>
    void changing
      .run(async () => {
        const ids = data?.policies.map(({ id }) => id) ?? [];
        const [moved] = ids.splice(index, 1);
        if (moved !== undefined) ids.splice(index + by, 0, moved);
        unwrap(await client.value.PUT("/policies/order", { body: { orderedIds: ids } }));
      })
      .then(reload);
  const remove = (id: string) =>
    void changing
      .run(async () => unwrap(await client.value.DELETE("/policies/{id}", { params: { path: { id } } })))
      .then(reload);
  return (
    <>
      <PageHead title="Policies" about="Asked from the top; the first that fits a call decides about it." />
      <div class="stack">
        <Failure error={changing.error ?? error} retry={reload} />
        {data === null ? (
          error === null ? (
            <Loading />
          ) : null
        ) : (
          <>
            <Card flush>
              {data.policies.length === 0 ? (
                <Empty icon={ListOrdered} title="No rule" />
              ) : (
                <ol class="list">
                  {data.policies.map((policy, index) => (
                    <Rule
                      key={policy.id}
                      policy={policy}
                      roles={roles.data ?? []}
                      isBusy={changing.isBusy}
                      onUp={index === 0 ? null : () => move(index, -1)}
                      onDown={index === data.policies.length - 1 ? null : () => move(index, 1)}
                      onRemove={() => remove(policy.id)}
                    />
                  ))}
                </ol>
              )}
              <p class="card-body muted small" style={{ borderTop: "1px solid var(--line)" }}>
                What no rule fits {DEFAULT_WORDS[data.defaultPolicy]}.
              </p>
            </Card>
            <NewRule roles={roles.data ?? []} onAdded={reload} />
          </>
        )}
      </div>
    </>
  );
}

function Rule({
  policy,
  roles,
  isBusy,
  onUp,
  onDown,
  onRemove,
}: {
  policy: Policy;
  roles: readonly Role[];
  isBusy: boolean;
  onUp: (() => void) | null;
  onDown: (() => void) | null;
  onRemove: () => void;
}) {
  const { servicePattern, toolPattern, roleId, noRole, processId, decision, expiresAt, remembered } = policy;
  const name = `${servicePattern}.${toolPattern}`;
  return (
    <li class="list-row">
      <div class="list-main">
        <code class="wrap">{name}</code>
        <p>
          {roleId === null ? null : `Role ${roles.find(({ id }) => id === roleId)?.name ?? roleId}. `}
          {noRole ? "Without a role. " : null}
          {remembered === null ? null : "Remembered: in place of one rule's question, never of a block. "}
          {processId === null ? null : `Process ${processId} only. `}
          {expiresAt === null ? null : (
            <>
              Ends <In at={expiresAt} />.
            </>
          )}
        </p>
      </div>
      <div class="list-side">
        <span class={`chip ${LOOKS[decision]}`}>{decision}</span>
        <button
          type="button"
          class="button quiet small icon"
          aria-label={`Move ${name} up`}
          disabled={onUp === null || isBusy}
          onClick={() => onUp?.()}
        >
          <ArrowUp />
        </button>
        <button
          type="button"
          class="button quiet small icon"
          aria-label={`Move ${name} down`}
          disabled={onDown === null || isBusy}
          onClick={() => onDown?.()}
        >
          <ArrowDown />
        </button>
        <ConfirmButton
          small
          label="Delete"
          question={`The rule ${decision} ${name} will be gone at once, for running scripts too.`}
          confirm="Delete"
          onConfirm={onRemove}
        />
      </div>
    </li>
  );
}

function NewRule({ roles, onAdded }: { roles: readonly Role[]; onAdded: () => void }) {
  const [servicePattern, setService] = useState("");
  const [toolPattern, setTool] = useState("*");
  const [roleId, setRole] = useState("");
  const [decision, setDecision] = useState<string>("ask");
  const adding = useAction();
  const isComplete = servicePattern.trim() !== "" && toolPattern.trim() !== "";
  const add = (event: Event) => {
    event.preventDefault();
    void adding
      .run(async () =>
        unwrap(
          await client.value.POST("/policies", {
            body: {
              servicePattern: servicePattern.trim(),
              toolPattern: toolPattern.trim(),
              decision: decision as Decision,
              roleId: roleId === "" || roleId === NO_ROLE ? null : roleId,
              noRole: roleId === NO_ROLE,
            },
          }),
        ),
      )
      .then((isDone) => {
        if (!isDone) return;
        setService("");
        onAdded();
      });
  };
  return (
    <Card title="Add a rule">
      <form class="stack" onSubmit={add}>
        <div class="fields">
          <TextField
            label="Service"
            value={servicePattern}
            onInput={setService}
            placeholder="github"
            hint="* is any"
          />
          <TextField
            label="Tool"
            value={toolPattern}
            onInput={setTool}
            hint="delete* is every tool so called"
          />
          <SelectField label="Decision" value={decision} options={DECISIONS} onChange={setDecision} />
          <SelectField
            label="For"
            value={roleId}
            options={[
              ["", "Everybody"],
              [NO_ROLE, "Callers without a role"],
              ...roles.map((role) => [role.id, `Role ${role.name}`] as const),
            ]}
            onChange={setRole}
          />
        </div>
        {isComplete ? (
          <Preview
            servicePattern={servicePattern.trim()}
            toolPattern={toolPattern.trim()}
            roleId={roleId === NO_ROLE ? "" : roleId}
          />
        ) : null}
        <Failure error={adding.error} />
        <div class="row end">
          <button type="submit" class="button primary" disabled={!isComplete || adding.isBusy}>
            Add the rule
          </button>
        </div>
      </form>
    </Card>
  );
}

const PREVIEWED = 8;

function Preview({
  servicePattern,
  toolPattern,
  roleId,
}: {
  servicePattern: string;
  toolPattern: string;
  roleId: string;
}) {
  const { data } = useResource(
    async (signal) =>
      unwrap(
        await client.value.GET("/policies/preview", {
          params: { query: { servicePattern, toolPattern, ...(roleId !== "" && { roleId }) } },
          signal,
        }),
      ),
    [servicePattern, toolPattern, roleId],
  );
  if (data === null) return null;
  return (
    <div class="stack tight small">
      <p class="muted">
        {count(data.affected, "installed tool")} {data.affected === 1 ? "fits" : "fit"}
        {data.affected === 0 ? "." : ":"}
      </p>
      <ul class="row">
        {data.tools.slice(0, PREVIEWED).map((tool) => (
          <li key={`${tool.serviceId}.${tool.id}`} class="chip plain">
            {tool.serviceId}.{tool.id}, now: {tool.decision}
          </li>
        ))}
        {data.affected > PREVIEWED ? <li class="muted">and {data.affected - PREVIEWED} more</li> : null}
      </ul>
      {data.hints.map((hint) => (
        <p key={hint} class="muted">
          {hint}
        </p>
      ))}
    </div>
  );
}
