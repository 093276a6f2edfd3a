import { useState } from "preact/hooks";
import { useAction } from "../parts/action.tsx";
import { Button, CopyButton, Dialog } from "../parts/controls.tsx";
import { CheckField, Form, SelectField, TextField, useFields } from "../parts/fields.tsx";
import { Ago, In } from "../parts/format.tsx";
import { ALL, type Key, post, type Role, remove, useGet } from "../server/api.ts";
import { NamedRecords } from "./named-records.tsx";

type Scope = Key["scopes"][number];

const SCOPES: readonly (readonly [Scope, string])[] = [
  ["processes:write", "submit, run and kill its own scripts; call tools"],
  ["processes:read", "read its own runs and their output"],
  ["processes:all", "access the runs of every key"],
  ["services:admin", "install and set up services"],
  ["modules:admin", "install and set up modules"],
  ["packages:admin", "install and remove npm packages"],
  ["approvals:decide", "approve and deny calls"],
  ["keys:admin", "manage keys, roles and rules"],
  ["logs:read", "read logs, metrics and the audit trail"],
];

export default function KeysPage() {
  const roles = useGet("/roles", ALL).data?.roles ?? [];
  const { data, ...state } = useGet("/keys", ALL);
  return (
    <NamedRecords<Key>
      title="Keys"
      about="Create one key for each person, agent and job, with no more scopes than it needs."
      icon="key-round"
      addLabel="New key"
      empty={{
        title: "No keys yet",
        text: "Create a key to give an agent or a colleague access. Until then only the configured key works, or none on this machine.",
      }}
      records={{ ...state, data: data?.keys ?? null }}
      describe={({ prefix, scopes, roleId }) => (
        <>
          <code class="muted">{prefix}…</code>
          <p>
            {scopes.join(", ") || "no scopes"}
            {roleId === null ? null : ` · role ${roles.find(({ id }) => id === roleId)?.name ?? roleId}`}
          </p>
        </>
      )}
      side={({ lastUsedAt, expiresAt }) => (
        <>
          <span>{lastUsedAt === null ? "never used" : ["used ", <Ago key="at" at={lastUsedAt} />]}</span>
          {expiresAt === null ? null : (
            <span>
              expires <In at={expiresAt} />
            </span>
          )}
        </>
      )}
      removal={{
        label: "Revoke",
        question: ({ name }) =>
          `The key ${name} stops working at once. Its running scripts continue, but cannot call tools.`,
        act: (id) => remove("/keys/{id}", { params: { path: { id } } }),
      }}
      dialog={(_key, close) => <KeyDialog roles={roles} onClose={close} />}
    />
  );
}

function KeyDialog({ roles, onClose }: { roles: readonly Role[]; onClose: () => void }) {
  const { values, field } = useFields({ name: "", roleId: "", expires: "" });
  const [scopes, setScopes] = useState<readonly Scope[]>(["processes:write", "processes:read"]);
  const [made, setMade] = useState<string | null>(null);
  const making = useAction();
  const make = () =>
    making.run(async () => {
      const { name, roleId, expires } = values;
      const body = {
        name,
        scopes: [...scopes],
        roleId: roleId === "" ? null : roleId,
        expiresAt: expires === "" ? null : new Date(expires).toISOString(),
      };
      setMade((await post("/keys", { body })).key);
    });
  if (made !== null) {
    return (
      <Dialog title="New key created" onClose={onClose}>
        <div class="stack">
          <p>Copy it now. The server stores only a hash and cannot show it again.</p>
          <div class="once row apart">
            <span>{made}</span>
            <CopyButton text={made} label="Copy key" />
          </div>
          <div class="row end">
            <Button look="primary" onClick={onClose}>
              Done
            </Button>
          </div>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title="New key" onClose={onClose}>
      <Form action={making} submit="Create key" onSubmit={make}>
        <TextField label="Name" {...field("name")} required placeholder="nightly report" />
        <fieldset class="stack tight">
          <legend class="label">Scopes</legend>
          {SCOPES.map(([scope, meaning]) => (
            <CheckField
              key={scope}
              label={scope}
              hint={meaning}
              checked={scopes.includes(scope)}
              onChange={(on) =>
                setScopes(on ? [...scopes, scope] : scopes.filter((other) => other !== scope))
              }
            />
          ))}
        </fieldset>
        <div class="fields">
          <SelectField
            label="Role"
            options={[["", "No role (all tools)"], ...roles.map((role) => [role.id, role.name] as const)]}
            {...field("roleId")}
          />
          <TextField
            label="Expires"
            type="datetime-local"
            {...field("expires")}
            hint="Leave empty for never"
          />
        </div>
      </Form>
    </Dialog>
  );
}
