/** A page for user-created records with names, such as keys and roles. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../parts/action.tsx";
import { Button, ConfirmButton } from "../parts/controls.tsx";
import { Loaded } from "../parts/failure.tsx";
import type { IconName } from "../parts/icons.tsx";
import { Plain } from "../parts/json-tree.tsx";
import { Empty, List, PageHead, Row } from "../parts/layout.tsx";
import type { Resource } from "../server/api.ts";

interface NamedRecordsProps<T> {
  title: string;
  about: string;
  icon: IconName;
  addLabel: string;
  empty: { title: string; text: string };
  records: Resource<readonly T[]>;
  describe: (record: T) => ComponentChildren;
  side: (record: T, edit: () => void) => ComponentChildren;
  removal: { label: string; question: (record: T) => string; act: (id: string) => Promise<unknown> };
  /** Renders the dialog for a record, or for a new one if `record` is null. */
  dialog: (record: T | null, close: () => void) => ComponentChildren;
}

export function NamedRecords<T extends { id: string; name: string }>(props: NamedRecordsProps<T>) {
  const { icon, empty, records, describe, side, removal, dialog } = props;
  const [edited, setEdited] = useState<T | "new" | null>(null);
  const removing = useAction();
  const close = () => {
    setEdited(null);
    records.reload();
  };
  return (
    <>
      <PageHead title={props.title} about={props.about}>
        <Button look="primary" icon="plus" onClick={() => setEdited("new")}>
          {props.addLabel}
        </Button>
      </PageHead>
      <div class="stack">
        <Loaded resource={records} error={removing.error}>
          {(data) => (
            <List items={data} empty={<Empty icon={icon} {...empty} />}>
              {(record) => (
                <Row
                  key={record.id}
                  side={
                    <>
                      {side(record, () => setEdited(record))}
                      <ConfirmButton
                        look="quiet small"
                        label={removal.label}
                        question={removal.question(record)}
                        onConfirm={() => removing.run(() => removal.act(record.id), records.reload)}
                      />
                    </>
                  }
                >
                  <strong>
                    <Plain text={record.name} />
                  </strong>{" "}
                  {describe(record)}
                </Row>
              )}
            </List>
          )}
        </Loaded>
      </div>
      {edited === null ? null : dialog(edited === "new" ? null : edited, close)}
    </>
  );
}
