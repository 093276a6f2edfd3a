/** Roles: which tools a key and its scripts may see, and which packages its scripts may import. */
import { tell, useAction } from "../parts/action.tsx";
import { Button, Dialog } from "../parts/controls.tsx";
import { Form, TextField, useFields } from "../parts/fields.tsx";
import { readPatterns } from "../parts/format.tsx";
import { ALL, patch, post, type Role, remove, useGet } from "../server/api.ts";
import { NamedRecords } from "./named-records.tsx";

export default function RolesPage() {
  const { data, ...state } = useGet("/roles", ALL);
  return (
    <NamedRecords<Role>
      title="Roles"
      about="A role decides which tools its keys can see and call, and which packages their scripts can import."
      icon="user-cog"
      addLabel="New role"
      empty={{
        title: "No roles yet",
        text: "Keys without a role see every tool. Create a role to limit them.",
      }}
      records={{ ...state, data: data?.roles ?? null }}
      describe={({ allow, deny, packages }) => (
        <p>
          Allows <code>{allow.join(", ") || "nothing"}</code>
          {deny.length === 0 ? null : (
            <>
              , but not <code>{deny.join(", ")}</code>
            </>
          )}
          {packages.includes("*") ? null : (
            <>
              ; packages: <code>{packages.join(", ") || "none"}</code>
            </>
          )}
        </p>
      )}
      side={(_role, edit) => (
        <Button look="small" onClick={edit}>
          Change
        </Button>
      )}
      removal={{
        label: "Delete",
        question: ({ name }) => `Delete the role ${name}?`,
        act: (id) => remove("/roles/{id}", { params: { path: { id } } }),
      }}
      dialog={(role, close) => <RoleDialog role={role} onClose={close} />}
    />
  );
}

function RoleDialog({ role, onClose }: { role: Role | null; onClose: () => void }) {
  const { values, field } = useFields({
    name: role?.name ?? "",
    allow: role?.allow.join("\n") ?? "",
    deny: role?.deny.join("\n") ?? "",
    packages: role?.packages.join("\n") ?? "*",
  });
  const saving = useAction();
  const save = () =>
    saving.run(async () => {
      const body = {
        name: values.name,
        allow: readPatterns(values.allow),
        deny: readPatterns(values.deny),
        packages: readPatterns(values.packages),
      };
      const { hints } =
        role === null
          ? await post("/roles", { body })
          : await patch("/roles/{id}", { params: { path: { id: role.id } }, body });
      for (const hint of hints) tell(hint);
      onClose();
    });
  return (
    <Dialog title={role === null ? "New role" : `Change ${role.name}`} onClose={onClose}>
      <Form action={saving} submit="Save" onSubmit={save}>
        <TextField label="Name" {...field("name")} required />
        <TextField
          label="Allow"
          rows={4}
          code
          {...field("allow")}
          hint="One per line. github.* matches every tool of github, ** everything. Leave empty to allow nothing."
        />
        <TextField label="Deny" rows={3} code {...field("deny")} hint="Overrides the patterns above." />
        <TextField
          label="Packages"
          rows={2}
          code
          {...field("packages")}
          hint="Packages its scripts may import: zod, @scope/*, or * for all. Leave empty for none."
        />
      </Form>
    </Dialog>
  );
}
