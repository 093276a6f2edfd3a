/** One service: its tools, settings, secrets and definition. */
import { useState } from "preact/hooks";
import { navigate } from "wouter-preact/use-hash-location";
import { hasFields, SecretsForm, SettingsForm } from "../forms/settings-forms.tsx";
import { tell, useAction } from "../parts/action.tsx";
import { Button, ConfirmButton, Switch } from "../parts/controls.tsx";
import { Failure, Loaded } from "../parts/failure.tsx";
import { TextField } from "../parts/fields.tsx";
import { formatTime } from "../parts/format.tsx";
import { Named, Plain } from "../parts/json-tree.tsx";
import { Card, Empty, Facts, PageHead } from "../parts/layout.tsx";
import { patch, post, remove, type ServiceDetails, useGet } from "../server/api.ts";
import { AllowedByService } from "./allowed.tsx";
import { ServiceChip, ServiceProblems, ServiceStanding } from "./standing.tsx";
import { ToolList } from "./tool-list.tsx";

const TABS = { tools: "Tools", settings: "Settings", secrets: "Secrets", definition: "Definition" };

export default function ServicePage({ id, tab = "tools" }: { id: string; tab?: string }) {
  const params = { path: { id } };
  const service = useGet("/services/{id}", { params });
  const switching = useAction();
  const setEnabled = (enabled: boolean) =>
    switching.run(() => post("/services/{id}/enabled", { params, body: { enabled } }), service.reload);
  return (
    <Loaded resource={service}>
      {(data) => (
        <>
          <PageHead
            title={<Named name={data.name} id={id} />}
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
            <ServiceProblems service={data} />
            <nav class="tabs" aria-label="Service sections">
              {Object.entries(TABS).map(([name, label]) => (
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
          <Tab service={data} tab={tab} reload={service.reload} />
        </>
      )}
    </Loaded>
  );
}

interface TabProps {
  service: ServiceDetails;
  tab: string;
  reload: () => void;
}

function Tab({ service, tab, reload }: TabProps) {
  const { id, configSchema, secretsSchema } = service;
  const owner = { kind: "services" as const, id };
  if (tab === "settings") {
    if (!hasFields(configSchema)) return <NothingToSet what="settings" />;
    return <SettingsForm owner={owner} schema={configSchema} />;
  }
  if (tab === "secrets") {
    if (!hasFields(secretsSchema)) return <NothingToSet what="secrets" />;
    return <SecretsForm owner={owner} schema={secretsSchema} />;
  }
  if (tab === "definition") return <Definition service={service} reload={reload} />;
  if (service.adapter !== "http") return <ToolList serviceId={id} />;
  return (
    <div class="stack">
      <AllowedByService id={id} enabled={service.enabled} />
      <ToolList serviceId={id} />
    </div>
  );
}

function NothingToSet({ what }: { what: string }) {
  return (
    <Card>
      <Empty icon="sliders-horizontal" title={`No ${what}`} text="The definition needs none." />
    </Card>
  );
}

function Definition({ service, reload }: Pick<TabProps, "service" | "reload">) {
  const { id, source, hash, adapter, createdAt } = service;
  const [content, setContent] = useState("");
  const [url, setUrl] = useState("");
  const changing = useAction();
  const params = { path: { id } };
  const change = (work: () => Promise<{ updated: boolean }>) =>
    changing.run(async () => {
      const { updated } = await work();
      tell(updated ? "Tools regenerated." : "The definition has not changed.");
      reload();
    });
  const forget = () =>
    changing.run(async () => {
      await remove("/services/{id}", { params });
      tell(`${id} is deleted.`);
      navigate("/services");
    });
  const body = url.trim() === "" ? { content } : { url: url.trim() };
  return (
    <div class="stack">
      <Failure error={changing.error} />
      <Card
        title="Definition"
        side={
          <>
            {source === "" ? null : (
              <Button
                look="small"
                disabled={changing.isBusy}
                onClick={() => change(() => post("/services/{id}/update", { params }))}
              >
                Update from the registry
              </Button>
            )}
            <Button
              look="small"
              disabled={changing.isBusy}
              title="Regenerate the tools from the stored definition"
              onClick={() => change(() => post("/services/{id}/sync", { params }))}
            >
              Sync
            </Button>
          </>
        }
      >
        <Facts
          facts={{
            Adapter: <a href={`#/modules/${adapter}`}>{adapter}</a>,
            Installed: formatTime(createdAt),
            Source: source === "" ? "a document" : source,
            "SHA-256": <code class="wrap">{hash}</code>,
          }}
        />
      </Card>
      <Card title="Replace definition">
        <div class="stack">
          <TextField label="URL" type="url" value={url} onChange={setUrl} placeholder="https://" />
          <TextField label="Or paste the definition" rows={8} code value={content} onChange={setContent} />
          <div class="row apart">
            <ConfirmButton
              label="Delete service"
              question={`${id} and its tools, settings and secrets are deleted. Scripts that call it fail.`}
              confirm="Delete"
              onConfirm={forget}
            />
            <Button
              look="primary"
              disabled={changing.isBusy || (content.trim() === "" && url.trim() === "")}
              onClick={() => change(() => patch("/services/{id}", { params, body }))}
            >
              Replace
            </Button>
          </div>
        </div>
      </Card>
    </div>
  );
}
