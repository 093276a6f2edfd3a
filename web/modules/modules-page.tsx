/** Adapters and environments: which are installed or active, and which failed to load and why. */
import { tell, useAction } from "../parts/action.tsx";
import { Button, Switch } from "../parts/controls.tsx";
import { Loaded } from "../parts/failure.tsx";
import { Form, SelectField, TextField, useFields } from "../parts/fields.tsx";
import { Named, Plain } from "../parts/json-tree.tsx";
import { Card, Empty, List, PageHead, Row } from "../parts/layout.tsx";
import { ALL, type Module, post, useGet } from "../server/api.ts";

const GROUPS = { environment: "Environments", adapter: "Adapters" };

export default function ModulesPage() {
  const modules = useGet("/modules", ALL);
  const changing = useAction();
  const setEnabled = (id: string, enabled: boolean) => {
    const init = { params: { path: { id } }, body: { enabled } };
    changing.run(() => post("/modules/{id}/enabled", init), modules.reload);
  };
  const readFolder = () =>
    changing.run(async () => {
      const { added, changed, removed, problems } = await post("/modules/reload", { body: {} });
      tell(`${added.length} added, ${changed.length} changed, ${removed.length} removed.`);
      for (const problem of problems) tell(`${problem.folder}: ${problem.error}`);
    }, modules.reload);
  return (
    <>
      <PageHead
        title="Modules"
        about="Environments run scripts; adapters turn definitions into services. One environment is active."
      >
        <Button icon="refresh-cw" disabled={changing.isBusy} onClick={readFolder}>
          Rescan folder
        </Button>
      </PageHead>
      <div class="stack">
        <Loaded resource={modules} error={changing.error}>
          {(data) => (
            <>
              {Object.entries(GROUPS).map(([type, title]) => (
                <List
                  key={type}
                  title={title}
                  items={data.modules.filter((module) => module.type === type)}
                  empty={<Empty icon="blocks" title="No modules yet" />}
                >
                  {(module) => (
                    <Row
                      key={module.id}
                      side={
                        <>
                          <span>{module.isBuiltin ? "bundled" : (module.version ?? "custom")}</span>
                          <ModuleChip module={module} />
                          <Switch
                            label={`Module ${module.id} enabled`}
                            on={module.enabled}
                            disabled={changing.isBusy}
                            onChange={(enabled) => setEnabled(module.id, enabled)}
                          />
                        </>
                      }
                    >
                      <a href={`#/modules/${module.id}`}>
                        <Named name={module.name} id={module.id} />
                      </a>
                      <p>
                        <Plain text={module.error ?? module.description} />
                      </p>
                    </Row>
                  )}
                </List>
              ))}
              <InstallModule onInstalled={modules.reload} />
            </>
          )}
        </Loaded>
      </div>
    </>
  );
}

export function ModuleChip({ module: { error, missing, state } }: { module: Module }) {
  if (missing) return <span class="chip bad">missing</span>;
  if (error !== null) return <span class="chip bad">error</span>;
  const look = state === "active" ? "good" : state === "draining" ? "wait" : "";
  return <span class={`chip ${look}`}>{state}</span>;
}

const WAYS = [
  ["package", "Package (.tar.zst)"],
  ["registry", "Registry entry"],
] as const;

function InstallModule({ onInstalled }: { onInstalled: () => void }) {
  const { values, field, set } = useFields({ way: "package", url: "" });
  const installing = useAction();
  const install = () =>
    installing.run(async () => {
      const { id } =
        values.way === "package"
          ? await post("/modules", { body: { url: values.url } })
          : await post("/modules/install", { body: { source: values.url } });
      tell(`${id} is installed. Enable it to use it.`);
      set({ url: "" });
      onInstalled();
    });
  return (
    <Card title="Install module">
      <Form action={installing} submit="Install" onSubmit={install}>
        <p class="muted">
          Modules run with the rights of the server. Install only code you would run yourself.
        </p>
        <div class="fields">
          <SelectField label="Source" options={WAYS} {...field("way")} />
          <TextField label="URL" type="url" {...field("url")} required placeholder="https://" />
        </div>
      </Form>
    </Card>
  );
}
