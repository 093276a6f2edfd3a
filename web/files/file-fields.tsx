/** Input files for a run: drop, pick, name or remove them. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { tell } from "../parts/action.tsx";
import { Button } from "../parts/controls.tsx";
import { describeFailure } from "../parts/failure.tsx";
import { TextField } from "../parts/fields.tsx";
import { formatBytes } from "../parts/format.tsx";
import { useGet, useOnChange } from "../server/api.ts";
import {
  addFiles,
  doneUploads,
  type GivenFile,
  givenFiles,
  problemOf,
  removeFile,
  renameFile,
} from "./given-files.ts";

/** Runs add to the stored bytes too, so the number is refreshed at this interval. */
const STORED_PACE_MS = 30_000;
const ONE = { params: { query: { limit: "1" } } } as const;

const hasFiles = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes("Files") ?? false;

interface DropAreaProps {
  class: string;
  label: string;
  /** Called when files were dropped and added to the draft. */
  onDrop: () => void;
  children: ComponentChildren;
}

/** Handles dropped files before its children do: an editor would insert their text. */
export function DropArea({ class: name, label, onDrop, children }: DropAreaProps) {
  /** Number of nested elements under the pointer: each is entered before the previous one is left. */
  const depth = useRef(0);
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    // The browser would open a file dropped outside the area instead of the page.
    const stay = (event: DragEvent) => hasFiles(event) && event.preventDefault();
    document.addEventListener("dragover", stay);
    document.addEventListener("drop", stay);
    return () => {
      document.removeEventListener("dragover", stay);
      document.removeEventListener("drop", stay);
    };
  }, []);
  const enter = (by: number) => (event: DragEvent) => {
    if (!hasFiles(event)) return;
    depth.current += by;
    setOver(depth.current > 0);
  };
  const allow = (event: DragEvent) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  const drop = (event: DragEvent) => {
    if (!hasFiles(event)) return;
    allow(event);
    depth.current = 0;
    setOver(false);
    const items = [...(event.dataTransfer?.items ?? [])].filter(({ kind }) => kind === "file");
    const folders = items.filter((item) => item.webkitGetAsEntry()?.isDirectory);
    if (folders.length > 0) tell("Folders are skipped; drop files instead.");
    const files = items.filter((item) => !folders.includes(item)).map((item) => item.getAsFile());
    addFiles(files.filter((file) => file !== null));
    onDrop();
  };
  return (
    <section
      class={name}
      aria-label={label}
      data-over={isOver}
      onDragEnterCapture={enter(1)}
      onDragLeaveCapture={enter(-1)}
      onDragOverCapture={allow}
      onDropCapture={drop}
    >
      {children}
    </section>
  );
}

export function FileFields() {
  const picker = useRef<HTMLInputElement>(null);
  const files = givenFiles.value;
  return (
    <div class="card-foot stack">
      <p class="muted small">
        {files.length === 0 ? "No files yet. Drop files on the editor, or choose them. " : ""}The script reads
        them with <code>cyrnel.files</code>, under these names.
      </p>
      {files.length === 0 ? null : (
        <ul class="stack tight">
          {files.map((file, index) => (
            <FileField key={file.key} file={file} number={index + 1} />
          ))}
        </ul>
      )}
      <div class="row">
        <Button look="small" icon="plus" onClick={() => picker.current?.click()}>
          Choose files
        </Button>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          onChange={({ currentTarget }) => {
            addFiles(currentTarget.files ?? []);
            // Allows picking the same file again.
            currentTarget.value = "";
          }}
        />
        <Stored />
      </div>
    </div>
  );
}

/**
 * Shows how much of its storage limit the key uses. Shows nothing if that cannot be read: uploads report their own
 * errors.
 */
function Stored() {
  const { data, reload } = useGet("/files", ONE, STORED_PACE_MS);
  useOnChange(doneUploads, reload);
  if (data === null) return null;
  const { storedBytes, maxStoredBytes } = data;
  const most = maxStoredBytes === null ? "" : ` of ${formatBytes(maxStoredBytes)}`;
  return (
    <p class="muted small" title="Your uploads, and the input files and artifacts of your runs.">
      {formatBytes(storedBytes)}
      {most} stored
    </p>
  );
}

function FileField({ file, number }: { file: GivenFile; number: number }) {
  const { key, name, size, id, sent, error } = file;
  return (
    <li class="given-file">
      <TextField
        label={`File ${number}`}
        hint={<Upload size={size} sent={sent} isThere={id !== null} hasFailed={error !== null} />}
        error={error === null ? problemOf(file) : describeFailure(error)}
        value={name}
        onChange={(text) => renameFile(key, text)}
      />
      <Button look="quiet small" icon="x" label={`Remove file ${number}`} onClick={() => removeFile(key)} />
    </li>
  );
}

interface UploadProps extends Pick<GivenFile, "size" | "sent"> {
  isThere: boolean;
  hasFailed: boolean;
}

function Upload({ size, sent, isThere, hasFailed }: UploadProps) {
  if (isThere || hasFailed) return <span class="number">{formatBytes(size)}</span>;
  return (
    <span class="row">
      <progress max={Math.max(1, size)} value={sent} aria-label="Uploaded" />
      <span class="number">
        {formatBytes(sent)} of {formatBytes(size)}
      </span>
    </span>
  );
}
