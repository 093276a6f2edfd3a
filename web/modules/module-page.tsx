/** One module: how it is doing, its settings and secrets. */
import { lazy, Suspense } from "preact/compat";
import { useLocation } from "wouter-preact";
import { unwrap } from "#client/errors.ts";
import { hasFields, SecretsForm, SettingsForm } from "../forms/settings-forms.tsx";
import { useAction } from "../parts/action.ts";
import { Card, ConfirmButton, Facts, Loading, PageHead } from "../parts/basics.tsx";
import { Failure } from "../parts/failure.tsx";
import { formatTime } from "../parts/format.ts";
import { Plain } from "../parts/json-tree.tsx";
import { Settled } from "../parts/settled.tsx";
import { tell } from "../parts/toasts.tsx";
import { client } from "../server/api.ts";
import { useResource } from "../server/use-resource.ts";
import { ModuleChip } from "./modules-page.tsx";

const Markdown = lazy(() => import("../parts/markdown.tsx"));

export default function ModulePage({ id }: { id: string }) {
  const params = { path: { id } };
  const { data, error, reload } = useResource(
    async (signal) => {
      const [module, { configSchema }, { secretsSchema }] = await Promise.all([
        client.value.GET("/modules/{id}", { params, signal }).then((answer) => unwrap(answer)),
        client.value.GET("/modules/{id}/config/schema", { params, signal }).then((answer) => unwrap(answer)),
        client.value.GET("/modules/{id}/secrets/schema", { params, signal }).then((answer) => unwrap(answer)),
      ]);
      return { module, configSchema, secretsSchema };
    },
    [id],
  );
  const changing = useAction();
  const [, navigate] = useLocation();
  if (data === null) return error === null ? <Loading /> : <Failure error={error} retry={reload} />;
  const { module, configSchema, secretsSchema } = data;
  const owner = { kind: "modules" as const, id };
  const update = () =>
    void changing
      .run(async () => {
        const { updated } = unwrap(await client.value.POST("/modules/{id}/update", { params, body: {} }));
        tell(updated ? `${id} is updated.` : `${id} is the newest already.`);
      })
      .then(reload);
  const remove = () =>
    void changing.run(async () => {
      unwrap(await client.value.DELETE("/modules/{id}", { params }));
      tell(`${id} is deleted.`);
      navigate("/modules");
    });
  return (
    <>
      <PageHead
        title={
          <>
            <Plain text={module.name} /> <span class="muted mono">{id}</span>
          </>
        }
        about={<Plain text={module.description} />}
        back={{ href: "#/modules", label: "Modules" }}
      >
        <ModuleChip module={module} />
        {module.source === "" ? null : (
          <button type="button" class="button" disabled={changing.isBusy} onClick={update}>
            Update
          </button>
        )}
        {module.isBuiltin ? null : (
          <ConfirmButton
            label="Delete"
            question={`The module ${id} will be gone. Services of it stop working.`}
            confirm="Delete"
            onConfirm={remove}
          />
        )}
      </PageHead>
      <Settled>
        <Failure error={changing.error} />
        {module.error === null ? null : (
          <div class="notice bad" role="alert">
            <div>
              It did not load: <Plain text={module.error} />
            </div>
          </div>
        )}
        <Card>
          <Facts
            facts={[
              ["Type", module.type],
              ["Version", module.version ?? (module.isBuiltin ? "bundled" : "–")],
              ["Registered", formatTime(module.createdAt)],
              ["From", module.source || (module.isBuiltin ? "the server" : "a package")],
            ]}
          />
        </Card>
        {module.replicas === undefined || module.replicas.length === 0 ? null : (
          <div class="notice wait">
            <div>
              On other servers of this database it is not as here:{" "}
              {module.replicas.map(({ replica, state }) => `${replica} ${state}`).join(", ")}.
            </div>
          </div>
        )}
        {hasFields(configSchema) ? <SettingsForm owner={owner} schema={configSchema} /> : null}
        {hasFields(secretsSchema) ? <SecretsForm owner={owner} schema={secretsSchema} /> : null}
        {module.type === "environment" && module.state === "active" ? <EnvironmentDocs /> : null}
      </Settled>
    </>
  );
}

function EnvironmentDocs() {
  const { data, error } = useResource(
    async (signal) => unwrap(await client.value.GET("/environment/docs", { parseAs: "text", signal })),
    [],
  );
  return (
    <Card title="Writing scripts for it">
      <Failure error={error} />
      {data === null ? (
        error === null ? (
          <Loading />
        ) : null
      ) : (
        <Suspense fallback={<Loading />}>
          <Markdown text={String(data)} />
        </Suspense>
      )}
    </Card>
  );
}
