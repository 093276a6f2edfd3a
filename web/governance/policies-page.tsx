/** The rules: which calls are allowed, need approval or are blocked. The first matching rule decides. */
import { useAction } from "../parts/action.tsx";
import { Button, ConfirmButton } from "../parts/controls.tsx";
import { Loaded } from "../parts/failure.tsx";
import { Form, SelectField, TextField, useFields } from "../parts/fields.tsx";
import { count, In } from "../parts/format.tsx";
import { Card, Empty, List, PageHead, Row } from "../parts/layout.tsx";
import { ALL, type Policy, post, put, type Role, remove, useGet } from "../server/api.ts";

const DECISIONS = [
  ["allow", "Allow"],
  ["ask", "Ask an approver"],
  ["block", "Block"],
] as const;
type Decision = (typeof DECISIONS)[number][0];

/** Option for no role, beside the role ids. */
const NO_ROLE = "none";

const LOOKS: Record<Decision, string> = { allow: "good", ask: "wait", block: "bad" };
const DEFAULT_WORDS: Record<string, string> = {
  allow: "is allowed",
  "ask-destructive": "is allowed; destructive calls need an approver",
  ask: "needs an approver",
  block: "is blocked",
};

export default function PoliciesPage() {
  const policies = useGet("/policies", ALL);
  const roles = useGet("/roles", ALL).data?.roles ?? [];
  const changing = useAction();
  const move = (index: number, by: number) =>
    changing.run(async () => {
      const orderedIds = policies.data?.policies.map(({ id }) => id) ?? [];
      const [moved] = orderedIds.splice(index, 1);
      if (moved !== undefined) orderedIds.splice(index + by, 0, moved);
      await put("/policies/order", { body: { orderedIds } });
    }, policies.reload);
  const forget = (id: string) =>
    changing.run(() => remove("/policies/{id}", { params: { path: { id } } }), policies.reload);
  return (
    <>
      <PageHead title="Rules" about="Checked from the top. The first rule that matches a call decides." />
      <div class="stack">
        <Loaded resource={policies} error={changing.error}>
          {(data) => (
            <>
              <List
                items={data.policies}
                empty={<Empty icon="list-ordered" title="No rule" />}
                foot={
                  <p class="card-foot muted small">
                    A call that matches no rule {DEFAULT_WORDS[data.defaultPolicy]}.
                  </p>
                }
              >
                {(policy, index) => (
                  <Rule
                    key={policy.id}
                    policy={policy}
                    roles={roles}
                    canMoveUp={index > 0 && !changing.isBusy}
                    canMoveDown={index < data.policies.length - 1 && !changing.isBusy}
                    onMove={(by) => move(index, by)}
                    onRemove={() => forget(policy.id)}
                  />
                )}
              </List>
              <NewRule roles={roles} onAdded={policies.reload} />
            </>
          )}
        </Loaded>
      </div>
    </>
  );
}

interface RuleProps {
  policy: Policy;
  roles: readonly Role[];
  canMoveUp: boolean;
  canMoveDown: boolean;
  onMove: (by: number) => void;
  onRemove: () => void;
}

function Rule({ policy, roles, canMoveUp, canMoveDown, onMove, onRemove }: RuleProps) {
  const { servicePattern, toolPattern, roleId, noRole, processId, decision, expiresAt, remembered } = policy;
  const name = `${servicePattern}.${toolPattern}`;
  return (
    <Row
      side={
        <>
          <span class={`chip ${LOOKS[decision]}`}>{decision}</span>
          <Button
            look="quiet small"
            icon="arrow-up"
            label={`Move ${name} up`}
            disabled={!canMoveUp}
            onClick={() => onMove(-1)}
          />
          <Button
            look="quiet small"
            icon="arrow-down"
            label={`Move ${name} down`}
            disabled={!canMoveDown}
            onClick={() => onMove(1)}
          />
          <ConfirmButton
            look="quiet small"
            label="Delete"
            question={`The rule ${decision} ${name} is deleted at once, also for running scripts.`}
            onConfirm={onRemove}
          />
        </>
      }
    >
      <code class="wrap">{name}</code>
      <p>
        {roleId === null ? null : `Role ${roles.find(({ id }) => id === roleId)?.name ?? roleId}. `}
        {noRole ? "Without a role. " : null}
        {remembered === null ? null : "Remembered approval: replaces one rule's question, never a block. "}
        {processId === null ? null : `Run ${processId} only. `}
        {expiresAt === null ? null : (
          <>
            Ends <In at={expiresAt} />.
          </>
        )}
      </p>
    </Row>
  );
}

function NewRule({ roles, onAdded }: { roles: readonly Role[]; onAdded: () => void }) {
  const { values, field, set } = useFields({ service: "", tool: "*", role: "", decision: "ask" });
  const { service: servicePattern, tool: toolPattern } = values;
  const adding = useAction();
  const isComplete = servicePattern !== "" && toolPattern !== "";
  const roleId = values.role === "" || values.role === NO_ROLE ? null : values.role;
  const add = () =>
    adding.run(async () => {
      const decision = values.decision as Decision;
      const noRole = values.role === NO_ROLE;
      await post("/policies", { body: { servicePattern, toolPattern, decision, roleId, noRole } });
      set({ service: "" });
      onAdded();
    });
  const everyone: readonly (readonly [string, string])[] = [
    ["", "Everyone"],
    [NO_ROLE, "Keys without a role"],
  ];
  return (
    <Card title="New rule">
      <Form action={adding} submit="Add rule" disabled={!isComplete} onSubmit={add}>
        <div class="fields">
          <TextField label="Service" {...field("service")} placeholder="github" hint="* matches any" />
          <TextField label="Tool" {...field("tool")} hint="delete* matches every tool with this prefix" />
          <SelectField label="Decision" options={DECISIONS} {...field("decision")} />
          <SelectField
            label="For"
            options={[...everyone, ...roles.map(({ id, name }) => [id, `Role ${name}`] as const)]}
            {...field("role")}
          />
        </div>
        {isComplete ? <Preview query={{ servicePattern, toolPattern, ...(roleId && { roleId }) }} /> : null}
      </Form>
    </Card>
  );
}

const PREVIEWED = 8;

interface PreviewProps {
  query: { servicePattern: string; toolPattern: string; roleId?: string };
}

/** Lists the installed tools that a rule would match. */
function Preview({ query }: PreviewProps) {
  const { data } = useGet("/policies/preview", { params: { query } });
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
