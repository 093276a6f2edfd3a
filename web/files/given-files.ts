/**
 * The draft's files: uploaded as soon as they are picked, and passed to each run by id. Uploads use XMLHttpRequest,
 * because fetch does not report upload progress.
 */
import { computed, signal } from "@preact/signals";
import { CyrnelError } from "#client/errors.ts";
import { checkFileName } from "#kernel/file-names.ts";
import { key } from "../server/access.ts";
import { endRefusedSession, fetchPath, type Process } from "../server/api.ts";
import { SERVER_URL, waitForServer } from "../server/connection.ts";

/** The server allows 8 concurrent uploads per key. */
const MAX_AT_ONCE = 3;

export interface GivenFile {
  /** Identifies a file on this page. */
  readonly key: number;
  name: string;
  size: number;
  /** Null until the upload is complete. */
  id: string | null;
  sent: number;
  error: unknown;
  readonly stop: AbortController;
}

export const givenFiles = signal<readonly GivenFile[]>([]);
/** Changes when an upload ends. */
export const doneUploads = computed(() =>
  givenFiles.value
    .filter(({ id, error }) => id !== null || error !== null)
    .map(({ key }) => key)
    .join(),
);
let lastKey = 0;
const waiting: (() => Promise<void>)[] = [];
let running = 0;

function change(fileKey: number, edit: Partial<GivenFile>): void {
  givenFiles.value = givenFiles.value.map((file) => (file.key === fileKey ? { ...file, ...edit } : file));
}

function add(name: string, size: number, id: string | null): GivenFile {
  for (const same of givenFiles.value.filter((file) => file.name === name)) removeFile(same.key);
  const file = { key: ++lastKey, name, size, id, sent: 0, error: null, stop: new AbortController() };
  givenFiles.value = [...givenFiles.value, file];
  return file;
}

/** Uploads the files. A file replaces another with the same name. */
export function addFiles(picked: Iterable<File>): void {
  for (const content of picked) {
    const file = add(content.name.normalize("NFC"), content.size, null);
    waiting.push(() => upload(file, content));
  }
  while (running < MAX_AT_ONCE && waiting.length > 0) void work();
}

async function work(): Promise<void> {
  running += 1;
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await next();
  running -= 1;
}

async function upload(
  { key: fileKey, name, stop: { signal: stop } }: GivenFile,
  content: File,
): Promise<void> {
  if (stop.aborted) return;
  try {
    change(fileKey, { id: await send(content, name, stop, (sent) => change(fileKey, { sent })) });
  } catch (error) {
    change(fileKey, { error });
  }
}

export function renameFile(fileKey: number, name: string): void {
  change(fileKey, { name });
}

/** The upload itself stays on the server until it expires. */
export function removeFile(fileKey: number): void {
  givenFiles.value.find((file) => file.key === fileKey)?.stop.abort();
  givenFiles.value = givenFiles.value.filter((file) => file.key !== fileKey);
}

/** Replaces the draft's files with those of a process, as far as they are among this key's uploads. */
export function replaceFiles(files: Process["files"]): void {
  for (const file of givenFiles.value) removeFile(file.key);
  for (const { name, size, id } of files) {
    const file = add(name, size, id);
    fetchPath(`/files/${id}`, { signal: file.stop.signal }).catch((error: unknown) => {
      const isGone = error instanceof CyrnelError && error.status === 404;
      if (isGone)
        change(file.key, {
          id: null,
          error: new Error("This upload no longer exists. Choose the file again."),
        });
    });
  }
}

/** Returns why the name is invalid, or null. */
export function problemOf({ key: fileKey, name }: GivenFile): string | null {
  const wrong = checkFileName(name);
  if (wrong !== null) return `The file name ${wrong}.`;
  const isTaken = givenFiles.value.some((other) => other.key !== fileKey && other.name === name);
  return isTaken ? "Another file already has this name." : null;
}

/** Returns the files in the form that `POST /processes` takes. Throws if one is not ready. */
export function readFiles(): { files?: Record<string, { id: string }> } {
  const files = givenFiles.value.map((file): [string, { id: string }] => {
    const { name, id, error } = file;
    const problem = problemOf(file);
    if (problem !== null) throw new Error(problem);
    if (error !== null) throw new Error(`${name} could not be uploaded. Remove it, or choose it again.`);
    if (id === null) throw new Error(`${name} is still uploading. Try again in a moment.`);
    return [name, { id }];
  });
  return files.length === 0 ? {} : { files: Object.fromEntries(files) };
}

/**
 * Returns the upload's id. The server derives the type from the name, because the browser's type depends on the
 * machine.
 */
function send(
  content: File,
  name: string,
  stop: AbortSignal,
  onSent: (bytes: number) => void,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const sentWith = key.value;
    const query = checkFileName(name) === null ? `?${new URLSearchParams({ name })}` : "";
    request.open("POST", `${SERVER_URL}/files${query}`);
    request.responseType = "json";
    if (sentWith !== null) request.setRequestHeader("authorization", `Bearer ${sentWith}`);
    request.setRequestHeader("content-type", "application/octet-stream");
    request.upload.onprogress = ({ loaded }) => onSent(loaded);
    request.onerror = () => {
      void waitForServer();
      reject(new Error("The upload was interrupted. Remove the file and choose it again."));
    };
    request.onabort = () => reject(stop.reason);
    request.onload = () => {
      const { status, statusText, response } = request;
      if (status === 200 || status === 201) return resolve(response.id);
      endRefusedSession(request, sentWith);
      reject(new CyrnelError(new Response(null, { status, statusText }), response));
    };
    stop.addEventListener("abort", () => request.abort());
    request.send(content);
  });
}
