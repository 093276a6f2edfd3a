/** Roles: which tools a key and its scripts may see. */
import { Plus, UserCog } from "lucide-preact";
import { useState } from "preact/hooks";
import { unwrap } from "#client/errors.ts";
import { useAction } from "../parts/action.ts";
import { Card, ConfirmButton, Dialog, Empty, Loading, PageHead } from "../parts/basics.tsx";
import { Failure } from "../parts/failure.tsx";
import { TextField } from "../parts/field.tsx";
import { readPatterns } from "../parts/pattern-lists.ts";
import { tell } from "../parts/toasts.tsx";
import { client, type Role } from "../server/api.ts";
import { useResource } from "../server/use-resource.ts";

export default function RolesView() {
  const { data, error, reload } = useResource(
    async (signal) =>
      unwrap(await client.value.GET("/roles", { params: { query: { limit: "200" } }, signal })).roles,
    [],
  );
  const [edited, setEdited] = useState<Role | "new" | null>(null);
  const removing = useAction();
  const remove = (id: string) =>
    void removing
      .run(async () => unwrap(await client.value.DELETE("/roles/{id}", { params: { path: { id } } })))
      .then(reload);
  return (
    <>
      <PageHead title="Roles" about="What a role does not allow cannot be found, described or called.">
        <button type="button" class="button primary" onClick={() => setEdited("new")}>
          <Plus aria-hidden="true" /> New role
        </button>
      </PageHead>
      <div class="stack">
        <Failure error={removing.error ?? error} retry={reload} />
        {data === null ? (
          error === null ? (
            <Loading />
          ) : null
        ) : (
          <Card flush>
            {data.length === 0 ? (
              <Empty icon={UserCog} title="No role">
                <p>Keys without a role see every tool.</p>
              </Empty>
            ) : (
              <ul class="list">
                {data.map((role) => (
                  <li key={role.id} class="list-row">
                    <div class="list-main">
                      <strong>{role.name}</strong>
                      <p>
                        Allows <code>{role.allow.join(", ") || "nothing"}</code>
                        {role.deny.length === 0 ? null : (
                          <>
                            , but not <code>{role.deny.join(", ")}</code>
                          </>
                        )}
                      </p>
                    </div>
                    <div class="list-side">
                      <button type="button" class="button small" onClick={() => setEdited(role)}>
                        Change
                      </button>
                      <ConfirmButton
                        small
                        label="Delete"
                        question={`The role ${role.name} will be gone.`}
                        confirm="Delete"
                        onConfirm={() => remove(role.id)}
                      />
                    </div>
                  </li>
                ))}
              </ul>
            )}
          </Card>
        )}
      </div>
      {edited === null ? null : (
        <RoleDialog
          role={edited === "new" ? null : edited}
          onClose={() => setEdited(null)}
          onSaved={() => {
            setEdited(null);
            reload();
          }}
        />
      )}
    </>
  );
}

function RoleDialog({
  role,
  onClose,
  onSaved,
}: {
  role: Role | null;
  onClose: () => void;
  onSaved: () => void;
}) {
  const [name, setName] = useState(role?.name ?? "");
  const [allow, setAllow] = useState(role?.allow.join("\n") ?? "");
  const [deny, setDeny] = useState(role?.deny.join("\n") ?? "");
  const saving = useAction();
  const save = (event: Event) => {
    event.preventDefault();
    void saving
      .run(async () => {
        const body = { name: name.trim(), allow: readPatterns(allow), deny: readPatterns(deny) };
        const { hints } = unwrap(
          role === null
            ? await client.value.POST("/roles", { body })
            : await client.value.PATCH("/roles/{id}", { params: { path: { id: role.id } }, body }),
        );
        for (const hint of hints) tell(hint);
      })
      .then((isDone) => isDone && onSaved());
  };
  return (
    <Dialog title={role === null ? "New role" : `Change ${role.name}`} onClose={onClose}>
      <form class="stack" onSubmit={save}>
        <TextField label="Name" value={name} onInput={setName} required />
        <TextField
          label="Allow"
          rows={4}
          code
          value={allow}
          onInput={setAllow}
          hint="One a line: github.* is every tool of github, ** is everything. Empty: nothing."
        />
        <TextField
          label="Deny"
          rows={3}
          code
          value={deny}
          onInput={setDeny}
          hint="Wins over what is allowed."
        />
        <Failure error={saving.error} />
        <div class="row end">
          <button type="submit" class="button primary" disabled={saving.isBusy}>
            Save
          </button>
        </div>
      </form>
    </Dialog>
  );
}
