/**
 * Settings and secrets of a service or module: forms for their schemas. Sends only changes, which do not overwrite
 * other people's.
 */
import type { ComponentChildren } from "preact";
import { lazy, Suspense } from "preact/compat";
import { useState } from "preact/hooks";
import { CyrnelError, unwrap } from "#client/errors.ts";
import { tell, useAction } from "../parts/action.tsx";
import { Button } from "../parts/controls.tsx";
import { Failure, Loaded, Loading, Settled } from "../parts/failure.tsx";
import { Card, Notice, Row } from "../parts/layout.tsx";
import { client, patch, useResource } from "../server/api.ts";
import { type PatchOperation, patchSecrets, patchSettings, withoutRequired } from "./settings-patch.ts";

const SchemaForm = lazy(() => import("./schema-form.tsx"));

type Values = Record<string, unknown>;

interface Owner {
  kind: "services" | "modules";
  id: string;
}

interface SettingsProps {
  owner: Owner;
  schema: Values;
}

type Read<T> = (signal: AbortSignal) => Promise<{ data?: T; error?: unknown; response: Response }>;

/** Loads and changes stored settings. The server rejects a change if the entity tag has changed in the meantime. */
function useStored<T>({ kind, id }: Owner, what: "config" | "secrets", read: Read<T>) {
  const stored = useResource(
    async (signal) => {
      const answer = await read(signal);
      return { ...unwrap(answer), entityTag: answer.response.headers.get("etag") };
    },
    [kind, id],
  );
  const saving = useAction();
  const save = (entityTag: string | null, body: PatchOperation[], said: string, done: () => void) =>
    saving.run(async () => {
      const header = entityTag === null ? {} : { "if-match": entityTag };
      await patch(`/${kind}/{id}/${what}`, { params: { path: { id }, header }, body });
      tell(said);
      done();
      stored.reload();
    });
  return { stored, saving, save };
}

export function SettingsForm({ owner, schema }: SettingsProps) {
  const { kind, id } = owner;
  const { stored, saving, save } = useStored(owner, "config", (signal) =>
    client.value.GET(`/${kind}/{id}/config`, { params: { path: { id } }, signal }),
  );
  // Keeps the stored values from when editing began, so that saving does not undo other people's changes.
  const [edited, setEdited] = useState<{ values: Values; of: NonNullable<typeof stored.data> } | null>(null);
  const startOver = () => {
    saving.clear();
    setEdited(null);
    stored.reload();
  };
  return (
    <Loaded resource={stored}>
      {(now) => {
        const { config, outdated, entityTag } = edited?.of ?? now;
        const body = edited === null ? [] : patchSettings(config, edited.values);
        return (
          <Frame title="Settings" outdated={outdated} about="Set, but no longer in the schema: ">
            <SchemaForm
              key={entityTag ?? ""}
              schema={schema}
              value={edited?.values ?? config}
              onChange={(values) => setEdited({ values: values as Values, of: edited?.of ?? now })}
            />
            <Failure error={saving.error} />
            <div class="row end">
              {saving.error instanceof CyrnelError && saving.error.status === 412 ? (
                <Button onClick={startOver}>Show stored values</Button>
              ) : null}
              <Button
                look="primary"
                disabled={body.length === 0 || saving.isBusy}
                onClick={() => save(entityTag, body, "Settings saved.", () => setEdited(null))}
              >
                Save settings
              </Button>
            </div>
          </Frame>
        );
      }}
    </Loaded>
  );
}

export function SecretsForm({ owner, schema }: SettingsProps) {
  const { kind, id } = owner;
  const { stored, saving, save } = useStored(owner, "secrets", (signal) =>
    client.value.GET(`/${kind}/{id}/secrets`, { params: { path: { id } }, signal }),
  );
  const [filled, setFilled] = useState<Values>({});
  const [round, setRound] = useState(0);
  const startOver = () => {
    setFilled({});
    setRound(round + 1);
  };
  return (
    <Loaded resource={stored}>
      {({ present, outdated, entityTag }) => {
        const body = patchSecrets(filled, present);
        return (
          <Frame
            title="Secrets"
            outdated={outdated}
            about="Outdated: they no longer match the schema, or were set for another address. They are not used until you set or remove all of these: "
          >
            <p class="muted">
              Stored encrypted, never shown again, never given to scripts. Fill in the secrets you want to set
              or replace.
            </p>
            {present.length === 0 ? null : (
              <ol class="list card">
                {present.map((pointer) => (
                  <Row
                    key={pointer}
                    side={
                      <>
                        <span class={`chip ${outdated.includes(pointer) ? "wait" : "good"}`}>
                          {outdated.includes(pointer) ? "outdated" : "set"}
                        </span>
                        <Button
                          look="danger quiet small"
                          disabled={saving.isBusy}
                          onClick={() =>
                            save(entityTag, [{ op: "remove", path: pointer }], "Secret removed.", startOver)
                          }
                        >
                          Remove
                        </Button>
                      </>
                    }
                  >
                    <code class="wrap">{pointer.slice(1)}</code>
                  </Row>
                ))}
              </ol>
            )}
            <SchemaForm
              key={round}
              schema={withoutRequired(schema)}
              value={filled}
              onChange={(value) => setFilled((value ?? {}) as Values)}
              isSecret
            />
            <Failure error={saving.error} />
            <div class="row end">
              <Button
                look="primary"
                disabled={body.length === 0 || saving.isBusy}
                onClick={() => save(entityTag, body, "Secrets saved.", startOver)}
              >
                Save secrets
              </Button>
            </div>
          </Frame>
        );
      }}
    </Loaded>
  );
}

interface FrameProps {
  title: string;
  /** JSON Pointers of stored values that are no longer used. */
  outdated: readonly string[];
  /** Describes problems with the values. */
  about: string;
  children: ComponentChildren;
}

function Frame({ title, outdated, about, children }: FrameProps) {
  return (
    <Card title={title}>
      <Settled>
        {outdated.length === 0 ? null : (
          <Notice look="wait">
            {about}
            <code>{outdated.join(", ")}</code>
          </Notice>
        )}
        <Suspense fallback={<Loading />}>{children}</Suspense>
      </Settled>
    </Card>
  );
}

export function hasFields(schema: Values): boolean {
  const { properties, additionalProperties } = schema;
  const isNamed = typeof properties === "object" && properties !== null && Object.keys(properties).length > 0;
  return isNamed || (additionalProperties !== undefined && additionalProperties !== false);
}
