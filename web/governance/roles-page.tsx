/** Roles: which tools a key and its scripts may see. */

import { useState } from "preact/hooks";
import { unwrap } from "#client/errors.ts";
import { useAction } from "../parts/action.ts";
import { Dialog } from "../parts/basics.tsx";
import { Failure } from "../parts/failure.tsx";
import { TextField } from "../parts/field.tsx";
import { UserCog } from "../parts/icons.tsx";
import { readPatterns } from "../parts/pattern-lists.ts";
import { tell } from "../parts/toasts.tsx";
import { client, type Role } from "../server/api.ts";
import { NamedRecords } from "./named-records.tsx";
import { readRoles } from "./roles.ts";

export default function RolesPage() {
  return (
    <NamedRecords<Role>
      title="Roles"
      about="What a role does not allow cannot be found, described or called."
      icon={UserCog}
      addLabel="New role"
      empty={{ title: "No role", text: "Keys without a role see every tool." }}
      load={readRoles}
      describe={({ allow, deny }) => (
        <p>
          Allows <code>{allow.join(", ") || "nothing"}</code>
          {deny.length === 0 ? null : (
            <>
              , but not <code>{deny.join(", ")}</code>
            </>
          )}
        </p>
      )}
      side={(_role, edit) => (
        <button type="button" class="button small" onClick={edit}>
          Change
        </button>
      )}
      removal={{
        label: "Delete",
        question: ({ name }) => `The role ${name} will be gone.`,
        act: async (id) => unwrap(await client.value.DELETE("/roles/{id}", { params: { path: { id } } })),
      }}
      dialog={(role, close) => <RoleDialog role={role} onClose={close} />}
    />
  );
}

function RoleDialog({ role, onClose }: { role: Role | null; onClose: () => void }) {
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
      .then((isDone) => isDone && onClose());
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
