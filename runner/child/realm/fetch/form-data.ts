/** `FormData` (XMLHttpRequest standard) and its two encodings. */
import type { Blobs } from "./blob.ts";
import { define, finishClass, type Inspect, makeIterable, needArguments, toUSVString } from "./interfaces.ts";
import type { MimeType } from "./mime.ts";

type Value = string | InstanceType<Blobs["File"]>;
type Entry = [name: string, value: Value];

const BOUNDARY_DIGITS = 16;
const CR = 13;
const LF = 10;
const DASH = 45;

export function createFormData(blobs: Blobs, decode: (bytes: Uint8Array) => string) {
  const { File, isBlob, isFile } = blobs;
  let listOf: (form: FormData) => Entry[];

  class FormData {
    #list: Entry[] = [];

    static {
      listOf = (form) => form.#list;
    }

    constructor(form: unknown = undefined) {
      if (form !== undefined)
        throw new TypeError("FormData takes no form element: scripts have no document.");
    }

    append(name: unknown, value: unknown, filename: unknown = undefined): void {
      needArguments(arguments.length, 2, "FormData.append");
      this.#list.push(toEntry(name, value, filename, arguments.length > 2, "append"));
    }

    delete(name: unknown): void {
      needArguments(arguments.length, 1, "FormData.delete");
      const wanted = toUSVString(name);
      this.#list = this.#list.filter(([other]) => other !== wanted);
    }

    get(name: unknown): Value | null {
      needArguments(arguments.length, 1, "FormData.get");
      const wanted = toUSVString(name);
      return this.#list.find(([other]) => other === wanted)?.[1] ?? null;
    }

    getAll(name: unknown): Value[] {
      needArguments(arguments.length, 1, "FormData.getAll");
      const wanted = toUSVString(name);
      return this.#list.filter(([other]) => other === wanted).map(([, value]) => value);
    }

    has(name: unknown): boolean {
      needArguments(arguments.length, 1, "FormData.has");
      const wanted = toUSVString(name);
      return this.#list.some(([other]) => other === wanted);
    }

    set(name: unknown, value: unknown, filename: unknown = undefined): void {
      needArguments(arguments.length, 2, "FormData.set");
      const entry = toEntry(name, value, filename, arguments.length > 2, "set");
      const at = this.#list.findIndex(([other]) => other === entry[0]);
      if (at === -1) this.#list.push(entry);
      else {
        const isKept = ([other]: Entry, index: number) => index <= at || other !== entry[0];
        this.#list = this.#list.with(at, entry).filter(isKept);
      }
    }
  }

  function toEntry(
    name: unknown,
    value: unknown,
    filename: unknown,
    isNamed: boolean,
    method: string,
  ): Entry {
    const key = toUSVString(name);
    if (!isBlob(value)) {
      if (isNamed && filename !== undefined) {
        throw new TypeError(`FormData.${method}: only a Blob or File can have a file name.`);
      }
      return [key, toUSVString(value)];
    }
    if (isFile(value) && filename === undefined) return [key, value];
    const label = filename !== undefined ? toUSVString(filename) : "blob";
    const lastModified = isFile(value) ? { lastModified: value.lastModified } : {};
    return [key, new File([value], label, { type: value.type, ...lastModified })];
  }

  makeIterable(FormData, "FormData", (form) => listOf(form));
  finishClass(FormData, "FormData");
  define(
    FormData.prototype,
    Symbol.for("nodejs.util.inspect.custom"),
    function (this: FormData, depth: number, options: object, inspect: Inspect) {
      if (depth < 0) return "[FormData]";
      return `FormData ${inspect(groupByName(listOf(this)), options)}`;
    },
  );

  return {
    FormData,
    isFormData: (value: unknown): value is FormData => value instanceof FormData,
    encodeForm: (form: FormData) => encodeEntries(listOf(form), blobs),
    parseMultipart: (bytes: Uint8Array, mime: MimeType) =>
      readMultipart(bytes, mime, new FormData(), blobs, decode),
  };
}

export type Forms = ReturnType<typeof createFormData>;

/** Returns text if the form has no file. A replay generates the same boundary. */
function encodeEntries(
  entries: readonly Entry[],
  { encode, partsOf }: Blobs,
): { content: string | Uint8Array[]; type: string } {
  let boundary = "----formdata-";
  while (boundary.length < 13 + BOUNDARY_DIGITS) boundary += Math.floor(Math.random() * 16).toString(16);
  const pieces: (string | readonly Uint8Array[])[] = [];
  for (const [name, value] of entries) {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(toLines(name))}"`;
    if (typeof value === "string") pieces.push(`${head}\r\n\r\n${toLines(value)}\r\n`);
    else {
      const type = value.type === "" ? "application/octet-stream" : value.type;
      pieces.push(`${head}; filename="${escapeName(value.name)}"\r\nContent-Type: ${type}\r\n\r\n`);
      pieces.push(partsOf(value), "\r\n");
    }
  }
  pieces.push(`--${boundary}--\r\n`);
  const type = `multipart/form-data; boundary=${boundary}`;
  if (pieces.every((piece) => typeof piece === "string")) return { content: pieces.join(""), type };
  return {
    content: pieces.flatMap((piece) => (typeof piece === "string" ? [encode(piece)] : piece)),
    type,
  };
}

function readMultipart<T extends { append(name: string, value: unknown): void }>(
  bytes: Uint8Array,
  mime: MimeType,
  form: T,
  { File, encode }: Blobs,
  decode: (bytes: Uint8Array) => string,
): T {
  const boundary = mime.parameters.get("boundary");
  if (boundary === undefined || boundary === "") throw malformed("its type names no boundary");
  const mark = encode(`--${boundary}`);
  let at = skipLine(bytes, 0);
  if (!startsWith(bytes, mark, at)) throw malformed("it does not begin with its boundary");
  for (;;) {
    at += mark.length;
    if (bytes[at] === DASH && bytes[at + 1] === DASH) return form;
    if (bytes[at] !== CR || bytes[at + 1] !== LF)
      throw malformed("a boundary is not followed by a line break");
    const head = readHead(bytes, at + 2, decode);
    const end = findEnd(bytes, mark, head.end);
    const body = bytes.slice(head.end, end);
    if (head.filename === null) form.append(head.name, decode(body));
    else form.append(head.name, new File([body], head.filename, { type: head.type }));
    at = end + 2;
  }
}

function readHead(bytes: Uint8Array, from: number, decode: (bytes: Uint8Array) => string) {
  let name: string | null = null;
  let filename: string | null = null;
  let type = "text/plain";
  for (let at = from; ; ) {
    if (bytes[at] === CR && bytes[at + 1] === LF) {
      if (name === null) throw malformed("a part has no name");
      return { name, filename, type: filename === null ? "" : type, end: at + 2 };
    }
    const end = bytes.indexOf(CR, at);
    if (end === -1 || bytes[end + 1] !== LF) throw malformed("a header of a part does not end");
    const line = decode(bytes.subarray(at, end));
    at = end + 2;
    const [, key = "", value = ""] = /^([^:]+):[\t ]*(.*?)[\t ]*$/s.exec(line) ?? [];
    if (key === "") throw malformed("a header of a part has no name");
    if (key.toLowerCase() === "content-type") type = value;
    if (key.toLowerCase() !== "content-disposition") continue;
    if (!/^form-data[\t ]*(?:;|$)/i.test(value)) throw malformed("a part is not form-data");
    name = readParameter(value, "name");
    filename = readParameter(value, "filename");
  }
}

function groupByName(entries: readonly Entry[]): object {
  const grouped = Object.groupBy(entries, ([name]) => name);
  const shown = Object.entries(grouped).map(([name, all = []]) => [
    name,
    all.length === 1 ? all[0]?.[1] : all.map(([, value]) => value),
  ]);
  return Object.fromEntries(shown);
}

function malformed(why: string): TypeError {
  return new TypeError(`The body is not multipart/form-data: ${why}.`);
}

function toLines(text: string): string {
  return text.replace(/\r\n|\r|\n/g, "\r\n");
}

function escapeName(text: string): string {
  return text.replaceAll("\n", "%0A").replaceAll("\r", "%0D").replaceAll('"', "%22");
}

/** Undoes `escapeName` inside quotation marks. */
function readParameter(value: string, name: string): string | null {
  const quoted = new RegExp(`;[\\t ]*${name}="([^"]*)"`, "i").exec(value)?.[1];
  if (quoted !== undefined) {
    return quoted.replace(/%0A/gi, "\n").replace(/%0D/gi, "\r").replaceAll("%22", '"');
  }
  return new RegExp(`;[\\t ]*${name}=([^;\\t ]+)`, "i").exec(value)?.[1] ?? null;
}

function skipLine(bytes: Uint8Array, at: number): number {
  return bytes[at] === CR && bytes[at + 1] === LF ? at + 2 : at;
}

function startsWith(bytes: Uint8Array, mark: Uint8Array, at: number): boolean {
  return mark.every((byte, index) => bytes[at + index] === byte);
}

/** Returns where a part's content ends: at the line break before the next boundary. */
function findEnd(bytes: Uint8Array, mark: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(CR, from); at !== -1; at = bytes.indexOf(CR, at + 1)) {
    if (bytes[at + 1] === LF && startsWith(bytes, mark, at + 2)) return at;
  }
  throw malformed("it does not end with its boundary");
}
