/** Adapters and environments: what is there, what is active, what did not load and why. */

import { useState } from "preact/hooks";
import { unwrap } from "#client/errors.ts";
import { useAction } from "../parts/action.ts";
import { Card, Empty, Loading, PageHead, Switch } from "../parts/basics.tsx";
import { Failure } from "../parts/failure.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { Blocks, RefreshCw } from "../parts/icons.tsx";
import { Plain } from "../parts/json-tree.tsx";
import { tell } from "../parts/toasts.tsx";
import { client, type Module } from "../server/api.ts";
import { useResource } from "../server/use-resource.ts";

export default function ModulesPage() {
  const { data, error, reload } = useResource(
    async (signal) =>
      unwrap(await client.value.GET("/modules", { params: { query: { limit: "200" } }, signal })).modules,
    [],
  );
  const changing = useAction();
  const setEnabled = (id: string, enabled: boolean) =>
    void changing
      .run(async () =>
        unwrap(
          await client.value.POST("/modules/{id}/enabled", { params: { path: { id } }, body: { enabled } }),
        ),
      )
      .then(reload);
  const readAnew = () =>
    void changing
      .run(async () => {
        const { added, changed, removed, problems } = unwrap(
          await client.value.POST("/modules/reload", { body: {} }),
        );
        tell(`${added.length} added, ${changed.length} changed, ${removed.length} removed.`);
        for (const problem of problems) tell(`${problem.folder}: ${problem.error}`);
      })
      .then(reload);
  const environments = data?.filter(({ type }) => type === "environment") ?? [];
  const adapters = data?.filter(({ type }) => type === "adapter") ?? [];
  return (
    <>
      <PageHead
        title="Modules"
        about="Environments run scripts; adapters turn definitions into services. One environment is active."
      >
        <button type="button" class="button" disabled={changing.isBusy} onClick={readAnew}>
          <RefreshCw /> Read the folder again
        </button>
      </PageHead>
      <div class="stack">
        <Failure error={changing.error ?? error} retry={reload} />
        {data === null ? (
          error === null ? (
            <Loading />
          ) : null
        ) : data.length === 0 ? (
          <Card>
            <Empty icon={Blocks} title="No module" />
          </Card>
        ) : (
          <>
            <Group
              title="Environments"
              modules={environments}
              isBusy={changing.isBusy}
              onEnable={setEnabled}
            />
            <Group title="Adapters" modules={adapters} isBusy={changing.isBusy} onEnable={setEnabled} />
          </>
        )}
        {data === null ? null : <InstallModule onInstalled={reload} />}
      </div>
    </>
  );
}

export function ModuleChip({ module }: { module: Module }) {
  const { error, missing, state } = module;
  if (missing) return <span class="chip bad">missing</span>;
  if (error !== null) return <span class="chip bad">error</span>;
  return (
    <span class={`chip ${state === "active" ? "good" : state === "draining" ? "wait" : ""}`}>{state}</span>
  );
}

function Group({
  title,
  modules,
  isBusy,
  onEnable,
}: {
  title: string;
  modules: readonly Module[];
  isBusy: boolean;
  onEnable: (id: string, enabled: boolean) => void;
}) {
  return (
    <Card title={title} flush>
      <ul class="list">
        {modules.map((module) => (
          <li key={module.id} class="list-row">
            <div class="list-main">
              <a href={`#/modules/${module.id}`}>
                <Plain text={module.name} /> <span class="muted mono">{module.id}</span>
              </a>
              <p>
                <Plain text={module.error ?? module.description} />
              </p>
            </div>
            <div class="list-side">
              {module.isBuiltin ? <span>bundled</span> : <span>{module.version ?? "custom"}</span>}
              <ModuleChip module={module} />
              <Switch
                label={`Module ${module.id} enabled`}
                on={module.enabled}
                disabled={isBusy}
                onChange={(enabled) => onEnable(module.id, enabled)}
              />
            </div>
          </li>
        ))}
      </ul>
    </Card>
  );
}

const WAYS = [
  ["package", "A package (.tar.zst)"],
  ["registry", "A registry entry"],
] as const;

function InstallModule({ onInstalled }: { onInstalled: () => void }) {
  const [way, setWay] = useState<string>("package");
  const [url, setUrl] = useState("");
  const installing = useAction();
  const install = (event: Event) => {
    event.preventDefault();
    void installing
      .run(async () => {
        const source = url.trim();
        const { id } = unwrap(
          way === "package"
            ? await client.value.POST("/modules", { body: { url: source } })
            : await client.value.POST("/modules/install", { body: { source } }),
        );
        tell(`${id} is installed. Enable it to use it.`);
        setUrl("");
      })
      .then((isDone) => isDone && onInstalled());
  };
  return (
    <Card title="Install a module">
      <form class="stack" onSubmit={install}>
        <p class="muted">
          A module runs with the rights of the server. Install only what you would run yourself.
        </p>
        <div class="fields">
          <SelectField label="From" value={way} options={WAYS} onChange={setWay} />
          <TextField label="URL" type="url" value={url} onInput={setUrl} required placeholder="https://" />
        </div>
        <Failure error={installing.error} />
        <div class="row end">
          <button type="submit" class="button primary" disabled={installing.isBusy}>
            Install
          </button>
        </div>
      </form>
    </Card>
  );
}
