/** What a run left: each file with a preview of what can be shown safely, and saved to the disk. */
import { useState } from "preact/hooks";
import { visibleLine } from "#client/visible-text.ts";
import { useAction } from "../parts/action.tsx";
import { Button } from "../parts/controls.tsx";
import { Failure } from "../parts/failure.tsx";
import { formatBytes } from "../parts/format.tsx";
import { Plain } from "../parts/json-tree.tsx";
import { List } from "../parts/layout.tsx";
import { type Process, saveAs } from "../server/api.ts";
import { type Artifact, kindOf, Preview } from "./preview.tsx";

const MAX_SHOWN = 100;

export function Artifacts({ process: { id, artifacts } }: { process: Pick<Process, "id" | "artifacts"> }) {
  const saving = useAction();
  const save = (path: string, name: string) => saving.run(() => saveAs(`/processes/${id}/${path}`, name));
  if (artifacts.length === 0) return null;
  const all = (
    <Button
      look="quiet small"
      icon="download"
      disabled={saving.isBusy}
      onClick={() => save("artifacts.tar", `process-${id}-artifacts.tar`)}
    >
      All as tar
    </Button>
  );
  const rest = artifacts.length - MAX_SHOWN;
  const foot = (
    <>
      {rest > 0 ? <p class="card-body muted">… and {rest} more: all of them are in the tar.</p> : null}
      <Failure error={saving.error} />
    </>
  );
  return (
    <List title="Files it left" side={all} items={artifacts.slice(0, MAX_SHOWN)} empty={null} foot={foot}>
      {(artifact) => (
        <ArtifactRow
          key={`${artifact.name} ${artifact.sha256}`}
          artifact={artifact}
          path={`/processes/${id}/${pathOf(artifact.name)}`}
          isSaving={saving.isBusy}
          onSave={() => save(pathOf(artifact.name), artifact.name.split("/").at(-1) ?? "")}
        />
      )}
    </List>
  );
}

interface ArtifactRowProps {
  artifact: Artifact;
  path: string;
  isSaving: boolean;
  onSave: () => void;
}

function ArtifactRow({ artifact, path, isSaving, onSave }: ArtifactRowProps) {
  const [isShown, setShown] = useState(false);
  const { name, size, contentType } = artifact;
  return (
    <li>
      <div class="list-row">
        <div class="list-main mono wrap">
          <Plain text={name} />
        </div>
        <div class="row list-side">
          <span class="number" title={contentType}>
            {formatBytes(size)}
          </span>
          {kindOf(artifact) === null ? null : (
            <Button
              look="quiet small"
              aria-expanded={isShown}
              aria-label={`Preview ${visibleLine(name)}`}
              onClick={() => setShown(!isShown)}
            >
              Preview
            </Button>
          )}
          <Button
            look="quiet small"
            icon="download"
            label={`Download ${visibleLine(name)}`}
            disabled={isSaving}
            onClick={onSave}
          />
        </div>
      </div>
      {isShown ? <Preview artifact={artifact} path={path} /> : null}
    </li>
  );
}

/** As the last parts of the path of a process. */
function pathOf(name: string): string {
  return `artifacts/${name.split("/").map(encodeURIComponent).join("/")}`;
}
