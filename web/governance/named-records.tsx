/** A view of records with a name that people make, look through and take back: keys, roles. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../parts/action.ts";
import { Card, ConfirmButton, Empty, Loading, PageHead } from "../parts/basics.tsx";
import { Failure } from "../parts/failure.tsx";
import { type Icon, Plus } from "../parts/icons.tsx";
import { Plain } from "../parts/json-tree.tsx";
import { useResource } from "../server/use-resource.ts";

interface NamedRecordsProps<T> {
  title: string;
  about: string;
  icon: Icon;
  addLabel: string;
  empty: { title: string; text: string };
  load: (signal: AbortSignal) => Promise<readonly T[]>;
  describe: (record: T) => ComponentChildren;
  side?: (record: T, edit: () => void) => ComponentChildren;
  removal: { label: string; question: (record: T) => string; act: (id: string) => Promise<unknown> };
  /** A dialog; `null`: for a new one. */
  dialog: (record: T | null, close: () => void) => ComponentChildren;
}

export function NamedRecords<T extends { id: string; name: string }>(props: NamedRecordsProps<T>) {
  const { icon, empty, describe, side, removal, dialog } = props;
  const { data, error, reload } = useResource(props.load, []);
  const [edited, setEdited] = useState<T | "new" | null>(null);
  const removing = useAction();
  const close = () => {
    setEdited(null);
    reload();
  };
  return (
    <>
      <PageHead title={props.title} about={props.about}>
        <button type="button" class="button primary" onClick={() => setEdited("new")}>
          <Plus /> {props.addLabel}
        </button>
      </PageHead>
      <div class="stack">
        <Failure error={removing.error ?? error} retry={reload} />
        {data === null && error === null ? <Loading /> : null}
        {data === null ? null : (
          <Card flush>
            {data.length === 0 ? (
              <Empty icon={icon} title={empty.title}>
                <p>{empty.text}</p>
              </Empty>
            ) : (
              <ul class="list">
                {data.map((record) => (
                  <li key={record.id} class="list-row">
                    <div class="list-main">
                      <strong>
                        <Plain text={record.name} />
                      </strong>{" "}
                      {describe(record)}
                    </div>
                    <div class="list-side">
                      {side?.(record, () => setEdited(record))}
                      <ConfirmButton
                        small
                        label={removal.label}
                        question={removal.question(record)}
                        confirm={removal.label}
                        onConfirm={() => void removing.run(() => removal.act(record.id)).then(reload)}
                      />
                    </div>
                  </li>
                ))}
              </ul>
            )}
          </Card>
        )}
      </div>
      {edited === null ? null : dialog(edited === "new" ? null : edited, close)}
    </>
  );
}
