/**
 * Access to the files of a run: what `cyrnel.files` and node:fs stand on. What there is is known here from the start, so only contents
 * cross to the host, in pieces; the host checks every name and limit again.
 */
import { checkFileName, contentTypeOf, createFolders } from "../../../../kernel/file-names.ts";
import type { CallMethod, PROTOCOL_LIMITS, StartParams } from "../../../wire/protocol.ts";
import type { Span } from "../sending.ts";
import { type ContentHost, gather, type Pieces } from "./file-content.ts";

/** What this needs of the realm's core; `params` are JSON text, `span` the bytes that are read or written. */
export interface FileHost extends ContentHost {
  call(method: CallMethod, params: string, span: Span | null): Promise<unknown>;
  callSync(method: CallMethod, params: string, span: Span | null): unknown;
}

export interface FileStat {
  name: string;
  /** Bytes. */
  size: number;
  contentType: string;
}

/** The primitives: whole writes, pieces of any length for reads. A failure has a `code`: `file_not_found`, `invalid_file_name`. */
export interface FileAccess {
  /** By name. */
  list(): FileStat[];
  stat(name: string): FileStat | undefined;
  /** As `stat`; throws an error that says what there is. */
  find(name: string): FileStat;
  read(name: string, offset: number, length: number): Promise<Uint8Array>;
  readSync(name: string, offset: number, length: number): Uint8Array;
  write(name: string, data: string | Uint8Array, mode: WriteMode): Promise<void>;
  writeSync(name: string, data: string | Uint8Array, mode: WriteMode): void;
  /** Of text and bytes, held one at a time; the file is as it was until the last one. `what` asks for it, in errors. */
  writePieces(what: string, name: string, pieces: Pieces, mode: "replace" | "append"): Promise<void>;
  change(change: Change): Promise<void>;
  changeSync(change: Change): void;
  /** Whether a file lies in it. */
  isFolder(name: string): boolean;
}

/** A number: over what is there from this byte on, after zeros where the file ends before. */
export type WriteMode = "replace" | "append" | number;

/** What the host does without the contents coming here. Removing is one; a copy replaces what was there; what a resize adds are zeros. */
export type Change =
  | { do: "remove"; name: string }
  | { do: "copy" | "move"; name: string; to: string }
  | { do: "resize"; name: string; size: number };

/** A literal, so that no schema library comes into the realm; the type keeps it equal to the host's. */
const PIECE_BYTES: (typeof PROTOCOL_LIMITS)["maxFilePieceBytes"] = 262_144;
/** UTF-16 units of text in one piece: at most three times as many bytes. */
const PIECE_UNITS = 65_536;
const MAX_NAMES_IN_ERROR = 5;

interface TextPiece {
  text: string;
  bytes: number;
}

export function createFileAccess(host: FileHost, given: StartParams["files"]) {
  const files = new Map<string, FileStat>();
  const folders = createFolders();
  let writes = 0;
  for (const { name, size, contentType } of given ?? []) {
    files.set(name, { name, size, contentType });
    folders.add(name);
  }

  function find(name: string): FileStat {
    const found = files.get(name);
    if (found !== undefined) return found;
    const near = [...files.keys()].slice(0, MAX_NAMES_IN_ERROR).map((known) => JSON.stringify(known));
    const more = files.size > near.length ? `, and ${files.size - near.length} more` : "";
    const there = files.size === 0 ? "It is empty." : `There are ${near.join(", ")}${more}.`;
    throw codedError("file_not_found", `There is no file ${JSON.stringify(name)} in the workspace. ${there}`);
  }

  /** Positions of the pieces of a range, within the file. */
  function* cut(name: string, offset: number, length: number): Generator<{ at: number; length: number }> {
    const { size } = find(name);
    const end = Math.min(size, offset + length);
    for (let at = offset; at < end; at += PIECE_BYTES) yield { at, length: Math.min(PIECE_BYTES, end - at) };
  }

  function room(name: string, offset: number, length: number): Uint8Array {
    return new Uint8Array(Math.max(0, Math.min(find(name).size - offset, length)));
  }

  function readParams(name: string, offset: number, length: number, asText: boolean): string {
    return JSON.stringify({ name, offset, length, ...(asText && { asText }) });
  }

  /** The parameters of each piece of a write, and its bytes; one without content is a piece as well. */
  function* cutContent(
    name: string,
    data: string | Uint8Array,
    mode: WriteMode,
  ): Generator<{ params: string; span: Span | null }> {
    checkName(name);
    const how = typeof mode === "number" ? { mode: "patch", at: mode } : { mode };
    writes++;
    const write = writes;
    for (let at = 0; ; ) {
      let next = at + (typeof data === "string" ? PIECE_UNITS : PIECE_BYTES);
      if (typeof data === "string" && isHighSurrogate(data.charCodeAt(next - 1))) next--;
      const more = next < data.length;
      const text = typeof data === "string" ? { text: data.slice(at, next) } : null;
      const params = JSON.stringify({ name, write, ...how, ...(more && { more }), ...text });
      const length = Math.min(next, data.length) - at;
      yield { params, span: typeof data === "string" || length === 0 ? null : { bytes: data, at, length } };
      if (!more) return;
      at = next;
    }
  }

  /** Parameters and method of a change; what is known here is changed once the host has answered. */
  function prepare(change: Change): [method: CallMethod, params: string] {
    find(change.name);
    const { name } = change;
    if (change.do === "remove") return ["removeFile", JSON.stringify({ name })];
    if (change.do === "resize") return ["resizeFile", JSON.stringify({ name, size: change.size })];
    checkName(change.to);
    const moves = change.do === "move" ? { moves: true } : null;
    return ["copyFile", JSON.stringify({ name, to: change.to, ...moves })];
  }

  function recordChange(change: Change, reply: unknown): void {
    if (change.do === "remove" || (change.do === "move" && change.to !== change.name)) {
      if (files.delete(change.name)) folders.delete(change.name);
    }
    if (change.do !== "remove") note(change.do === "resize" ? change.name : change.to, reply);
  }

  function note(name: string, reply: unknown): void {
    if (!files.has(name)) folders.add(name);
    files.set(name, { name, size: (reply as { size: number }).size, contentType: contentTypeOf(name) });
  }

  const access: FileAccess & TextAccess = {
    list: () => [...files.values()].sort((a, b) => (a.name < b.name ? -1 : 1)).map((file) => ({ ...file })),
    stat: (name) => (files.has(name) ? { ...find(name) } : undefined),
    find: (name) => ({ ...find(name) }),
    async read(name, offset, length) {
      const bytes = room(name, offset, length);
      const replies: Promise<unknown>[] = [];
      // The host reads the next piece while the last one is taken in.
      for (const piece of cut(name, offset, bytes.length)) {
        const span = { bytes, at: piece.at - offset, length: piece.length };
        const reply = host.call("readFile", readParams(name, piece.at, piece.length, false), span);
        reply.catch(ignore);
        await replies.at(-1);
        replies.push(reply);
      }
      return keepRead(bytes, await Promise.all(replies));
    },
    readSync(name, offset, length) {
      const bytes = room(name, offset, length);
      const replies: unknown[] = [];
      for (const { at, length: count } of cut(name, offset, bytes.length)) {
        const span = { bytes, at: at - offset, length: count };
        replies.push(host.callSync("readFile", readParams(name, at, count, false), span));
      }
      return keepRead(bytes, replies);
    },
    async write(name, data, mode) {
      let before: Promise<unknown> | undefined;
      for (const { params, span } of cutContent(name, data, mode)) {
        const reply = host.call("writeFile", params, span);
        reply.catch(ignore);
        await before;
        before = reply;
      }
      note(name, await before);
    },
    writeSync(name, data, mode) {
      let reply: unknown;
      for (const { params, span } of cutContent(name, data, mode)) {
        reply = host.callSync("writeFile", params, span);
      }
      note(name, reply);
    },
    async writePieces(what, name, pieces, mode) {
      checkName(name);
      writes++;
      const write = writes;
      const send = (how: object, bytes: Uint8Array | null) =>
        host.call(
          "writeFile",
          JSON.stringify({ name, write, ...how }),
          bytes && { bytes, at: 0, length: bytes.length },
        );
      try {
        for await (const bytes of gather(what, pieces, PIECE_BYTES, host))
          await send({ mode, more: true }, bytes);
      } catch (error) {
        await send({ mode: "discard" }, null);
        throw error;
      }
      note(name, await send({ mode }, null));
    },
    async change(change) {
      recordChange(change, await host.call(...prepare(change), null));
    },
    changeSync(change) {
      recordChange(change, host.callSync(...prepare(change), null));
    },
    isFolder: (name) => folders.has(name),
    async *texts(name) {
      const { size } = find(name);
      const ask = (at: number) =>
        host.call("readFile", readParams(name, at, PIECE_BYTES, true), null) as Promise<TextPiece>;
      let next: Promise<TextPiece> | null = size > 0 ? ask(0) : null;
      for (let at = 0; next !== null; ) {
        const { text, bytes } = await next;
        const isFirst = at === 0;
        at += bytes;
        next = at < size && bytes > 0 ? ask(at) : null;
        next?.catch(ignore);
        yield isFirst && text.startsWith("\ufeff") ? text.slice(1) : text;
      }
    },
    textSync(name) {
      const { size } = find(name);
      let text = "";
      for (let at = 0; at < size; ) {
        const piece = host.callSync("readFile", readParams(name, at, PIECE_BYTES, true), null) as TextPiece;
        if (piece.bytes === 0) break;
        text += piece.text;
        at += piece.bytes;
      }
      return text;
    },
  };
  return { ...access, note };
}

/** What came of a file that is shorter by now than it was known to be: up to the first piece that did. */
function keepRead(bytes: Uint8Array, replies: readonly unknown[]): Uint8Array {
  let length = 0;
  for (const reply of replies) {
    const came = (reply as { bytes: number }).bytes;
    length += came;
    if (came < PIECE_BYTES) break;
  }
  return length < bytes.length ? bytes.slice(0, length) : bytes;
}

/** Reading UTF-8 as text, decoded by the host; what is no UTF-8 becomes U+FFFD. */
export interface TextAccess {
  /** Pieces of whole characters, without a byte order mark. */
  texts(name: string): AsyncGenerator<string>;
  textSync(name: string): string;
}

export function checkName(name: string): void {
  const wrong = checkFileName(name);
  if (wrong === null) return;
  throw codedError("invalid_file_name", `The file name ${JSON.stringify(name.slice(0, 200))} ${wrong}.`);
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function codedError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** A rejection that is awaited later is no unhandled one meanwhile. */
function ignore(): void {}
