/** Settings and secrets of a service or a module: forms of their schemas, sent as changes that somebody else's cannot overwrite. */
import { lazy, Suspense } from "preact/compat";
import { useState } from "preact/hooks";
import { CyrnelError, unwrap } from "#client/errors.ts";
import { useAction } from "../parts/action.ts";
import { Card, Loading } from "../parts/basics.tsx";
import { Failure } from "../parts/failure.tsx";
import { Settled } from "../parts/settled.tsx";
import { tell } from "../parts/toasts.tsx";
import { client } from "../server/api.ts";
import { useResource } from "../server/use-resource.ts";
import { patchSecrets, patchSettings, withoutRequired } from "./settings-patch.ts";

const SchemaForm = lazy(() => import("./schema-form.tsx"));

type Values = Record<string, unknown>;
interface Stored {
  config: Values;
  outdated: readonly string[];
  entityTag: string | null;
}
export type Owner = { kind: "services" | "modules"; id: string };

export function SettingsForm({ owner, schema }: { owner: Owner; schema: Values }) {
  const { kind, id } = owner;
  const params = { path: { id } };
  const stored = useResource(
    async (signal): Promise<Stored> => {
      const answer = await client.value.GET(`/${kind}/{id}/config`, { params, signal });
      return { ...unwrap(answer), entityTag: answer.response.headers.get("etag") };
    },
    [kind, id],
  );
  // With what was stored when the editing began: what others change meanwhile is not undone by it.
  const [edited, setEdited] = useState<{ values: Values; of: Stored } | null>(null);
  const saving = useAction();
  if (stored.data === null) return stored.error === null ? <Loading /> : <Failure error={stored.error} />;
  const now = stored.data;
  const { config, outdated, entityTag } = edited?.of ?? now;
  const patch = edited === null ? [] : patchSettings(config, edited.values);
  const save = () =>
    void saving
      .run(async () =>
        unwrap(
          await client.value.PATCH(`/${kind}/{id}/config`, {
            params: { ...params, header: entityTag === null ? {} : { "if-match": entityTag } },
            body: patch,
          }),
        ),
      )
      .then((isDone) => {
        if (!isDone) return;
        tell("The settings are saved.");
        setEdited(null);
        stored.reload();
      });
  const startOver = () => {
    saving.clear();
    setEdited(null);
    stored.reload();
  };
  return (
    <Card title="Settings">
      <Settled>
        <Outdated pointers={outdated} />
        <Suspense fallback={<Loading />}>
          <SchemaForm
            key={entityTag ?? ""}
            schema={schema}
            value={edited?.values ?? config}
            onChange={(values) => setEdited({ values: values as Values, of: edited?.of ?? now })}
          />
        </Suspense>
        <Failure error={saving.error} />
        <div class="row end">
          {saving.error instanceof CyrnelError && saving.error.status === 412 ? (
            <button type="button" class="button" onClick={startOver}>
              Show what is stored now
            </button>
          ) : null}
          <button
            type="button"
            class="button primary"
            disabled={patch.length === 0 || saving.isBusy}
            onClick={save}
          >
            Save settings
          </button>
        </div>
      </Settled>
    </Card>
  );
}

export function SecretsForm({ owner, schema }: { owner: Owner; schema: Values }) {
  const { kind, id } = owner;
  const params = { path: { id } };
  const stored = useResource(
    async (signal) => {
      const answer = await client.value.GET(`/${kind}/{id}/secrets`, { params, signal });
      return { ...unwrap(answer), entityTag: answer.response.headers.get("etag") };
    },
    [kind, id],
  );
  const [filled, setFilled] = useState<Values>({});
  const [round, setRound] = useState(0);
  const saving = useAction();
  if (stored.data === null) return stored.error === null ? <Loading /> : <Failure error={stored.error} />;
  const { present, outdated, entityTag } = stored.data;
  const patch = patchSecrets(filled, present);
  const send = (body: ReturnType<typeof patchSecrets>, done: string) =>
    void saving
      .run(async () =>
        unwrap(
          await client.value.PATCH(`/${kind}/{id}/secrets`, {
            params: { ...params, header: entityTag === null ? {} : { "if-match": entityTag } },
            body,
          }),
        ),
      )
      .then((isDone) => {
        if (!isDone) return;
        tell(done);
        setFilled({});
        setRound(round + 1);
        stored.reload();
      });
  return (
    <Card title="Secrets">
      <Settled>
        <p class="muted">
          Kept encrypted and never shown again, to scripts neither. Fill in what you want to set or replace.
        </p>
        {present.length === 0 ? null : (
          <ul class="list card">
            {present.map((pointer) => (
              <li key={pointer} class="list-row">
                <code class="list-main wrap">{pointer.slice(1)}</code>
                {outdated.includes(pointer) ? (
                  <span class="chip wait">outdated</span>
                ) : (
                  <span class="chip good">set</span>
                )}
                <button
                  type="button"
                  class="button danger quiet small"
                  disabled={saving.isBusy}
                  onClick={() => send([{ op: "remove", path: pointer }], "The secret is removed.")}
                >
                  Remove
                </button>
              </li>
            ))}
          </ul>
        )}
        <Outdated pointers={outdated} isSecret />
        <Suspense fallback={<Loading />}>
          <SchemaForm
            key={round}
            schema={withoutRequired(schema)}
            value={filled}
            onChange={(value) => setFilled((value ?? {}) as Values)}
            isSecret
          />
        </Suspense>
        <Failure error={saving.error} />
        <div class="row end">
          <button
            type="button"
            class="button primary"
            disabled={patch.length === 0 || saving.isBusy}
            onClick={() => send(patch, "The secrets are saved.")}
          >
            Save secrets
          </button>
        </div>
      </Settled>
    </Card>
  );
}

function Outdated({ pointers, isSecret = false }: { pointers: readonly string[]; isSecret?: boolean }) {
  if (pointers.length === 0) return null;
  return (
    <div class="notice wait">
      <div>
        {isSecret
          ? "Not fitting the schema, or set when they went to another address. They are not used until all of these are set again or removed: "
          : "Set, but not known to the schema any more: "}
        <code>{pointers.join(", ")}</code>
      </div>
    </div>
  );
}

export function hasFields(schema: Values): boolean {
  const { properties, additionalProperties } = schema;
  const isNamed = typeof properties === "object" && properties !== null && Object.keys(properties).length > 0;
  return isNamed || (additionalProperties !== undefined && additionalProperties !== false);
}
