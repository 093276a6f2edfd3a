/** A run's input files and artifacts, each with a safe preview and a download. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { visibleLine } from "#client/visible-text.ts";
import { useAction } from "../parts/action.tsx";
import { Button } from "../parts/controls.tsx";
import { Failure } from "../parts/failure.tsx";
import { formatBytes } from "../parts/format.tsx";
import { Plain } from "../parts/json-tree.tsx";
import { List } from "../parts/layout.tsx";
import { type Process, saveAs } from "../server/api.ts";
import { kindOf, Preview, type ShownFile } from "./preview.tsx";

const MAX_SHOWN = 100;

type Folder = "artifacts" | "files";

export function Artifacts({ process: { id, artifacts } }: { process: Pick<Process, "id" | "artifacts"> }) {
  const saving = useAction();
  const files = artifacts.map(({ sha256, ...file }) => ({ ...file, digest: sha256 }));
  const rest = files.length - MAX_SHOWN;
  return (
    <FileList
      title="Artifacts"
      of={{ id, folder: "artifacts" }}
      files={files}
      side={
        <Button
          look="quiet small"
          icon="download"
          disabled={saving.isBusy}
          onClick={() =>
            saving.run(() => saveAs(`/processes/${id}/artifacts.tar`, `process-${id}-artifacts.tar`))
          }
        >
          Download all
        </Button>
      }
      foot={
        <>
          {rest > 0 ? <p class="card-body muted">… and {rest} more. Download all to get them.</p> : null}
          <Failure error={saving.error} />
        </>
      }
    />
  );
}

export function GivenFiles({ process: { id, files } }: { process: Pick<Process, "id" | "files"> }) {
  const rest = files.length - MAX_SHOWN;
  return (
    <FileList
      title="Input files"
      of={{ id, folder: "files" }}
      files={files.map(({ id: digest, ...file }) => ({ ...file, digest }))}
      foot={rest > 0 ? <p class="card-body muted">… and {rest} more.</p> : null}
    />
  );
}

interface FileListProps {
  title: string;
  of: { id: number; folder: Folder };
  files: ShownFile[];
  side?: ComponentChildren;
  foot: ComponentChildren;
}

function FileList({ title, of: { id, folder }, files, side, foot }: FileListProps) {
  const saving = useAction();
  if (files.length === 0) return null;
  const pathOf = (name: string) =>
    `/processes/${id}/${folder}/${name.split("/").map(encodeURIComponent).join("/")}`;
  const foots = (
    <>
      {foot}
      <Failure error={saving.error} />
    </>
  );
  return (
    <List title={title} side={side} items={files.slice(0, MAX_SHOWN)} empty={null} foot={foots}>
      {(file) => (
        <FileRow
          key={`${file.name} ${file.digest}`}
          file={file}
          path={pathOf(file.name)}
          isSaving={saving.isBusy}
          onSave={() => saving.run(() => saveAs(pathOf(file.name), file.name.split("/").at(-1) ?? ""))}
        />
      )}
    </List>
  );
}

interface FileRowProps {
  file: ShownFile;
  path: string;
  isSaving: boolean;
  onSave: () => void;
}

function FileRow({ file, path, isSaving, onSave }: FileRowProps) {
  const [isShown, setShown] = useState(false);
  const { name, size, contentType } = file;
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
          {kindOf(file) === null ? null : (
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
      {isShown ? <Preview file={file} path={path} /> : null}
    </li>
  );
}
