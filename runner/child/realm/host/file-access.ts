/**
 * Access to a run's files, for `cyrnel.files` and node:fs. Names and sizes are known here from the start, so only
 * contents cross to the host, in pieces. The host checks every name and limit again.
 */
import { checkFileName, contentTypeOf, createFolders } from "../../../../kernel/file-names.ts";
import type { CallMethod, PROTOCOL_LIMITS, StartParams } from "../../../wire/protocol.ts";
import type { Span } from "../sending.ts";
import { type ContentHost, gather, type Pieces } from "./file-content.ts";

/** Functions of the realm's core. `params` is JSON text, `span` the bytes to read or write. */
export interface FileHost extends ContentHost {
  call(method: CallMethod, params: string, span: Span | null): Promise<unknown>;
  callSync(method: CallMethod, params: string, span: Span | null): unknown;
}

export interface FileStat {
  name: string;
  size: number;
  contentType: string;
}

/**
 * Basic file operations. Writes are complete or fail; reads may cover any range. Errors have a `code` such as
 * `file_not_found` or `invalid_file_name`.
 */
export interface FileAccess {
  list(): FileStat[];
  stat(name: string): FileStat | undefined;
  /** Like `stat`, but throws an error that lists the existing files. */
  find(name: string): FileStat;
  read(name: string, offset: number, length: number): Promise<Uint8Array>;
  readSync(name: string, offset: number, length: number): Uint8Array;
  write(name: string, data: string | Uint8Array, mode: WriteMode): Promise<void>;
  writeSync(name: string, data: string | Uint8Array, mode: WriteMode): void;
  /**
   * Writes pieces of text or bytes, of which it buffers one at a time. The file changes only with the last one.
   * `what` names the caller in errors.
   */
  writePieces(what: string, name: string, pieces: Pieces, mode: "replace" | "append"): Promise<void>;
  change(change: Change): Promise<void>;
  changeSync(change: Change): void;
  isFolder(name: string): boolean;
}

/** A number overwrites the file from that byte on; a gap after its end is filled with zeros. */
export type WriteMode = "replace" | "append" | number;

/**
 * A change that the host makes without sending contents here. A copy replaces its target; a resize fills with zeros.
 */
export type Change =
  | { do: "remove"; name: string }
  | { do: "copy" | "move"; name: string; to: string }
  | { do: "resize"; name: string; size: number };

/**
 * A literal, because importing it would bring a schema library into the realm. Its type keeps it equal to the host's.
 */
const PIECE_BYTES: (typeof PROTOCOL_LIMITS)["maxFilePieceBytes"] = 262_144;
/** UTF-16 units of text in one piece, which take at most three times as many bytes. */
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

  /** Yields the parameters and bytes of each piece of a write. Empty content is one piece as well. */
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

  /** Returns method and parameters of a change. The list of files is updated once the host has replied. */
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
      // The host reads the next piece while this one is copied.
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

/** Returns the bytes up to the first short piece, for a file that has shrunk since its size was known. */
function keepRead(bytes: Uint8Array, replies: readonly unknown[]): Uint8Array {
  let length = 0;
  for (const reply of replies) {
    const came = (reply as { bytes: number }).bytes;
    length += came;
    if (came < PIECE_BYTES) break;
  }
  return length < bytes.length ? bytes.slice(0, length) : bytes;
}

/** Reads UTF-8 files as text, which the host decodes. Invalid bytes become U+FFFD. */
export interface TextAccess {
  /** Yields pieces of complete characters, without a byte order mark. */
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

/** Prevents an unhandled rejection of a promise that is awaited later. */
function ignore(): void {}
