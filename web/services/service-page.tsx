/** One service: its tools, settings, secrets and definition. */

import { useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { unwrap } from "#client/errors.ts";
import { hasFields, SecretsForm, SettingsForm } from "../forms/settings-forms.tsx";
import { useAction } from "../parts/action.ts";
import { Card, ConfirmButton, Empty, Facts, Loading, PageHead, Switch } from "../parts/basics.tsx";
import { Failure } from "../parts/failure.tsx";
import { TextField } from "../parts/field.tsx";
import { formatTime } from "../parts/format.ts";
import { SlidersHorizontal } from "../parts/icons.tsx";
import { Plain } from "../parts/json-tree.tsx";
import { tell } from "../parts/toasts.tsx";
import { client, type ServiceDetails } from "../server/api.ts";
import { useResource } from "../server/use-resource.ts";
import { ServiceChip, ServiceStanding } from "./standing.tsx";
import { ToolList } from "./tool-list.tsx";

const TABS = [
  ["tools", "Tools"],
  ["settings", "Settings"],
  ["secrets", "Secrets"],
  ["definition", "Definition"],
] as const;

export default function ServicePage({ id, tab = "tools" }: { id: string; tab?: string }) {
  const params = { path: { id } };
  const { data, error, reload } = useResource(
    async (signal) => unwrap(await client.value.GET("/services/{id}", { params, signal })),
    [id],
  );
  const switching = useAction();
  if (data === null) return error === null ? <Loading /> : <Failure error={error} retry={reload} />;
  const setEnabled = (enabled: boolean) =>
    void switching
      .run(async () =>
        unwrap(await client.value.POST("/services/{id}/enabled", { params, body: { enabled } })),
      )
      .then(reload);
  return (
    <>
      <PageHead
        title={
          <>
            <Plain text={data.name} /> <span class="muted mono">{data.id}</span>
          </>
        }
        about={<Plain text={data.description} />}
        back={{ href: "#/services", label: "Services" }}
      >
        <ServiceChip service={data} />
        <Switch
          label={`Service ${id} enabled`}
          on={data.enabled}
          disabled={switching.isBusy}
          onChange={setEnabled}
        />
      </PageHead>
      <div class="stack">
        <Failure error={switching.error} />
        <ServiceStanding service={data} />
        <nav class="tabs" aria-label="Parts of the service">
          {TABS.map(([name, label]) => (
            <a
              key={name}
              class="tab"
              href={`#/services/${id}/${name}`}
              aria-current={name === tab ? "page" : undefined}
            >
              {label}
            </a>
          ))}
        </nav>
      </div>
      <Tab service={data} tab={tab} reload={reload} />
    </>
  );
}

function Tab({ service, tab, reload }: { service: ServiceDetails; tab: string; reload: () => void }) {
  const owner = { kind: "services" as const, id: service.id };
  if (tab === "settings") {
    return hasFields(service.configSchema) ? (
      <SettingsForm owner={owner} schema={service.configSchema} />
    ) : (
      <NothingToSet what="settings" />
    );
  }
  if (tab === "secrets") {
    return hasFields(service.secretsSchema) ? (
      <SecretsForm owner={owner} schema={service.secretsSchema} />
    ) : (
      <NothingToSet what="secrets" />
    );
  }
  if (tab === "definition") return <Definition service={service} reload={reload} />;
  return <ToolList serviceId={service.id} />;
}

export function NothingToSet({ what }: { what: string }) {
  return (
    <Card>
      <Empty icon={SlidersHorizontal} title={`No ${what}`}>
        <p>Its definition asks for none.</p>
      </Empty>
    </Card>
  );
}

function Definition({ service, reload }: { service: ServiceDetails; reload: () => void }) {
  const { id, source, hash, adapter, createdAt } = service;
  const [content, setContent] = useState("");
  const [url, setUrl] = useState("");
  const changing = useAction();
  const [, navigate] = useLocation();
  const params = { path: { id } };
  const change = (work: () => Promise<{ updated: boolean }>) =>
    void changing.run(async () => {
      const { updated } = await work();
      tell(updated ? "The tools are made anew." : "The definition is the same as before.");
      reload();
    });
  const remove = () =>
    void changing.run(async () => {
      unwrap(await client.value.DELETE("/services/{id}", { params }));
      tell(`${id} is deleted.`);
      navigate("/services");
    });
  const replace = () =>
    change(async () => {
      const body = url.trim() === "" ? { content } : { url: url.trim() };
      return unwrap(await client.value.PATCH("/services/{id}", { params, body }));
    });
  return (
    <div class="stack">
      <Failure error={changing.error} />
      <Card
        title="Definition"
        side={
          <>
            {source === "" ? null : (
              <button
                type="button"
                class="button small"
                disabled={changing.isBusy}
                onClick={() =>
                  change(async () => unwrap(await client.value.POST("/services/{id}/update", { params })))
                }
              >
                Update from the registry
              </button>
            )}
            <button
              type="button"
              class="button small"
              disabled={changing.isBusy}
              title="Make the tools anew of the stored definition"
              onClick={() =>
                change(async () => unwrap(await client.value.POST("/services/{id}/sync", { params })))
              }
            >
              Sync
            </button>
          </>
        }
      >
        <Facts
          facts={[
            ["Adapter", <a href={`#/modules/${adapter}`}>{adapter}</a>],
            ["Installed", formatTime(createdAt)],
            ["From", source === "" ? "a document" : source],
            ["SHA-256", <code class="wrap">{hash}</code>],
          ]}
        />
      </Card>
      <Card title="Replace it">
        <div class="stack">
          <TextField label="URL" type="url" value={url} onInput={setUrl} placeholder="https://" />
          <TextField label="Or the definition itself" rows={8} code value={content} onInput={setContent} />
          <div class="row apart">
            <ConfirmButton
              label="Delete the service"
              question={`${id}, its tools, settings and secrets will be gone. Scripts that call it will fail.`}
              confirm="Delete"
              onConfirm={remove}
            />
            <button
              type="button"
              class="button primary"
              disabled={changing.isBusy || (content.trim() === "" && url.trim() === "")}
              onClick={replace}
            >
              Replace
            </button>
          </div>
        </div>
      </Card>
    </div>
  );
}
