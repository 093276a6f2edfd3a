/** API keys: made, shown once, revoked. */
import { KeyRound, Plus } from "lucide-preact";
import { useState } from "preact/hooks";
import { unwrap } from "#client/errors.ts";
import { useAction } from "../parts/action.ts";
import { Card, ConfirmButton, CopyButton, Dialog, Empty, Loading, PageHead } from "../parts/basics.tsx";
import { Failure } from "../parts/failure.tsx";
import { CheckField, SelectField, TextField } from "../parts/field.tsx";
import { formatAgo, formatIn } from "../parts/format.ts";
import { client, type Key, type Role } from "../server/api.ts";
import { useResource } from "../server/use-resource.ts";

type Scope = Key["scopes"][number];

const SCOPES: readonly (readonly [Scope, string])[] = [
  ["processes:write", "submit, run and kill scripts, call tools"],
  ["processes:read", "read processes and their output"],
  ["services:admin", "install and set up services"],
  ["modules:admin", "install and set up modules"],
  ["approvals:decide", "approve and deny calls"],
  ["keys:admin", "make keys, roles and rules"],
  ["logs:read", "read logs, metrics and the audit trail"],
];

export default function KeysView() {
  const { data, error, reload } = useResource(
    async (signal) =>
      unwrap(await client.value.GET("/keys", { params: { query: { limit: "200" } }, signal })).keys,
    [],
  );
  const roles = useResource(
    async (signal) =>
      unwrap(await client.value.GET("/roles", { params: { query: { limit: "200" } }, signal })).roles,
    [],
  );
  const [isMaking, setMaking] = useState(false);
  const revoking = useAction();
  const revoke = (id: string) =>
    void revoking
      .run(async () => unwrap(await client.value.DELETE("/keys/{id}", { params: { path: { id } } })))
      .then(reload);
  return (
    <>
      <PageHead title="Keys" about="One for each person, agent and job, with no more rights than it needs.">
        <button type="button" class="button primary" onClick={() => setMaking(true)}>
          <Plus aria-hidden="true" /> New key
        </button>
      </PageHead>
      <div class="stack">
        <Failure error={revoking.error ?? error} retry={reload} />
        {data === null ? (
          error === null ? (
            <Loading />
          ) : null
        ) : (
          <Card flush>
            {data.length === 0 ? (
              <Empty icon={KeyRound} title="No key">
                <p>Only the key of the server's configuration counts, or none at all on this machine.</p>
              </Empty>
            ) : (
              <ul class="list">
                {data.map((key) => (
                  <li key={key.id} class="list-row">
                    <div class="list-main">
                      <strong>{key.name}</strong> <code class="muted">{key.prefix}…</code>
                      <p>
                        {key.scopes.join(", ") || "no scope"}
                        {key.roleId === null
                          ? null
                          : ` · role ${roles.data?.find(({ id }) => id === key.roleId)?.name ?? key.roleId}`}
                      </p>
                    </div>
                    <div class="list-side">
                      <span>
                        {key.lastUsedAt === null ? "never used" : `used ${formatAgo(key.lastUsedAt)}`}
                      </span>
                      {key.expiresAt === null ? null : <span>expires {formatIn(key.expiresAt)}</span>}
                      <ConfirmButton
                        small
                        label="Revoke"
                        question={`The key ${key.name} stops working at once. Its scripts that run now keep running.`}
                        confirm="Revoke"
                        onConfirm={() => revoke(key.id)}
                      />
                    </div>
                  </li>
                ))}
              </ul>
            )}
          </Card>
        )}
      </div>
      {isMaking ? (
        <KeyDialog
          roles={roles.data ?? []}
          onClose={() => {
            setMaking(false);
            reload();
          }}
        />
      ) : null}
    </>
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
