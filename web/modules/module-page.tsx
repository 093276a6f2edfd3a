import { navigate } from "wouter-preact/use-hash-location";
import { hasFields, SecretsForm, SettingsForm } from "../forms/settings-forms.tsx";
import { tell, useAction } from "../parts/action.tsx";
import { Button, ConfirmButton } from "../parts/controls.tsx";
import { Failure, Loaded, Settled } from "../parts/failure.tsx";
import { formatTime } from "../parts/format.tsx";
import { Named, Plain } from "../parts/json-tree.tsx";
import { Card, Facts, Notice, PageHead } from "../parts/layout.tsx";
import { MarkdownCard } from "../parts/markdown-card.tsx";
import { get, post, remove, useGet, useResource } from "../server/api.ts";
import { ModuleChip } from "./modules-page.tsx";

export default function ModulePage({ id }: { id: string }) {
  const params = { path: { id } };
  const owner = { kind: "modules" as const, id };
  const described = useResource(
    async (signal) => {
      const [module, { configSchema }, { secretsSchema }] = await Promise.all([
        get("/modules/{id}", { params, signal }),
        get("/modules/{id}/config/schema", { params, signal }),
        get("/modules/{id}/secrets/schema", { params, signal }),
      ]);
      return { module, configSchema, secretsSchema };
    },
    [id],
  );
  const changing = useAction();
  const update = () =>
    changing.run(async () => {
      const { updated } = await post("/modules/{id}/update", { params, body: {} });
      tell(updated ? `${id} is updated.` : `${id} is already up to date.`);
    }, described.reload);
  const forget = () =>
    changing.run(async () => {
      await remove("/modules/{id}", { params });
      tell(`${id} is deleted.`);
      navigate("/modules");
    });
  return (
    <Loaded resource={described}>
      {({ module, configSchema, secretsSchema }) => (
        <>
          <PageHead
            title={<Named name={module.name} id={id} />}
            about={<Plain text={module.description} />}
            back={{ href: "#/modules", label: "Modules" }}
          >
            <ModuleChip module={module} />
            {module.source === "" ? null : (
              <Button disabled={changing.isBusy} onClick={update}>
                Update
              </Button>
            )}
            {module.isBuiltin ? null : (
              <ConfirmButton
                label="Delete"
                question={`Delete the module ${id}? Its services stop working.`}
                onConfirm={forget}
              />
            )}
          </PageHead>
          <Settled>
            <Failure error={changing.error} />
            {module.error === null ? null : (
              <Notice look="bad" role="alert">
                Could not load: <Plain text={module.error} />
              </Notice>
            )}
            <Card>
              <Facts
                facts={{
                  Type: module.type,
                  Version: module.version ?? (module.isBuiltin ? "bundled" : "–"),
                  Registered: formatTime(module.createdAt),
                  Source: module.source || (module.isBuiltin ? "the server" : "a package"),
                }}
              />
            </Card>
            {module.replicas === undefined || module.replicas.length === 0 ? null : (
              <Notice look="wait">
                State differs on other replicas:{" "}
                {module.replicas.map(({ replica, state }) => `${replica} ${state}`).join(", ")}.
              </Notice>
            )}
            {hasFields(configSchema) ? <SettingsForm owner={owner} schema={configSchema} /> : null}
            {hasFields(secretsSchema) ? <SecretsForm owner={owner} schema={secretsSchema} /> : null}
            {module.type === "environment" && module.state === "active" ? <EnvironmentDocs /> : null}
          </Settled>
        </>
      )}
    </Loaded>
  );
}

function EnvironmentDocs() {
  const docs = useGet("/environment/docs", { parseAs: "text" });
  return <MarkdownCard title="How to write scripts" text={docs} />;
}
