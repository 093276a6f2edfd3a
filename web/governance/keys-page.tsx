/** API keys: made, shown once, revoked. */

import { useState } from "preact/hooks";
import { unwrap } from "#client/errors.ts";
import { useAction } from "../parts/action.ts";
import { CopyButton, Dialog } from "../parts/basics.tsx";
import { Failure } from "../parts/failure.tsx";
import { CheckField, SelectField, TextField } from "../parts/field.tsx";
import { KeyRound } from "../parts/icons.tsx";
import { Ago, In } from "../parts/moment.tsx";
import { client, type Key, type Role } from "../server/api.ts";
import { useResource } from "../server/use-resource.ts";
import { NamedRecords } from "./named-records.tsx";
import { readRoles } from "./roles.ts";

type Scope = Key["scopes"][number];

const SCOPES: readonly (readonly [Scope, string])[] = [
  ["processes:write", "submit, run and kill its scripts, call tools"],
  ["processes:read", "read its processes and their output"],
  ["processes:all", "do so with the processes of every key"],
  ["services:admin", "install and set up services"],
  ["modules:admin", "install and set up modules"],
  ["approvals:decide", "approve and deny calls"],
  ["keys:admin", "make keys, roles and rules"],
  ["logs:read", "read logs, metrics and the audit trail"],
];

export default function KeysPage() {
  const roles = useResource(readRoles, []).data ?? [];
  return (
    <NamedRecords<Key>
      title="Keys"
      about="One for each person, agent and job, with no more rights than it needs."
      icon={KeyRound}
      addLabel="New key"
      empty={{
        title: "No key",
        text: "Only the key of the server's configuration counts, or none at all on this machine.",
      }}
      load={async (signal) =>
        unwrap(await client.value.GET("/keys", { params: { query: { limit: "200" } }, signal })).keys
      }
      describe={(key) => (
        <>
          <code class="muted">{key.prefix}…</code>
          <p>
            {key.scopes.join(", ") || "no scope"}
            {key.roleId === null
              ? null
              : ` · role ${roles.find(({ id }) => id === key.roleId)?.name ?? key.roleId}`}
          </p>
        </>
      )}
      side={({ lastUsedAt, expiresAt }) => (
        <>
          {lastUsedAt === null ? (
            <span>never used</span>
          ) : (
            <span>
              used <Ago at={lastUsedAt} />
            </span>
          )}
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
          `The key ${name} stops working at once. Its scripts that run now keep running.`,
        act: async (id) => unwrap(await client.value.DELETE("/keys/{id}", { params: { path: { id } } })),
      }}
      dialog={(_key, close) => <KeyDialog roles={roles} onClose={close} />}
    />
  );
}

function KeyDialog({ roles, onClose }: { roles: readonly Role[]; onClose: () => void }) {
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly Scope[]>(["processes:write", "processes:read"]);
  const [roleId, setRole] = useState("");
  const [expires, setExpires] = useState("");
  const [made, setMade] = useState<string | null>(null);
  const making = useAction();
  const make = (event: Event) => {
    event.preventDefault();
    void making.run(async () => {
      const { key } = unwrap(
        await client.value.POST("/keys", {
          body: {
            name: name.trim(),
            scopes: [...scopes],
            roleId: roleId === "" ? null : roleId,
            expiresAt: expires === "" ? null : new Date(expires).toISOString(),
          },
        }),
      );
      setMade(key);
    });
  };
  if (made !== null) {
    return (
      <Dialog title="The new key" onClose={onClose}>
        <div class="stack">
          <p>Copy it now. The server keeps a hash only; nobody can show it again.</p>
          <div class="once row apart">
            <span>{made}</span>
            <CopyButton text={made} label="Copy the key" />
          </div>
          <div class="row end">
            <button type="button" class="button primary" onClick={onClose}>
              I have it
            </button>
          </div>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title="New key" onClose={onClose}>
      <form class="stack" onSubmit={make}>
        <TextField label="Name" value={name} onInput={setName} required placeholder="nightly report" />
        <fieldset class="stack tight">
          <legend class="label">It may</legend>
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
            value={roleId}
            options={[["", "None: every tool"], ...roles.map((role) => [role.id, role.name] as const)]}
            onChange={setRole}
          />
          <TextField
            label="Expires"
            type="datetime-local"
            value={expires}
            onInput={setExpires}
            hint="Empty: never"
          />
        </div>
        <Failure error={making.error} />
        <div class="row end">
          <button type="submit" class="button primary" disabled={making.isBusy}>
            Make the key
          </button>
        </div>
      </form>
    </Dialog>
  );
}
