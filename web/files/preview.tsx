/**
 * Previews the beginning of an input file or artifact without executing it: text, JSON as a tree, CSV as a table, and
 * images of four formats, recognized by their bytes. Everything is rendered as text or pixels; HTML and SVG are shown
 * as source.
 */
import { useEffect, useMemo, useState } from "preact/hooks";
import { visibleLine, visibleText } from "#client/visible-text.ts";
import { Loaded } from "../parts/failure.tsx";
import { formatBytes } from "../parts/format.tsx";
import { JsonTree } from "../parts/json-tree.tsx";
import { Tail } from "../parts/layout.tsx";
import { fetchPath, useResource } from "../server/api.ts";

export interface ShownFile {
  name: string;
  size: number;
  contentType: string;
  /** Changes with the content. */
  digest: string;
}
type Kind = "image" | "json" | "csv" | "text";

const MAX_IMAGE_BYTES = 8 * 1024 * 1024;
const MAX_JSON_BYTES = 2 * 1024 * 1024;
const MAX_TEXT_BYTES = 256 * 1024;
const MAX_ROWS = 200;
const MAX_COLUMNS = 50;
const MAX_CELL_CHARACTERS = 200;

const SEPARATORS: Readonly<Record<string, string>> = { "text/csv": ",", "text/tab-separated-values": "\t" };
const TEXT_TYPE =
  /^(?:text\/.+|image\/svg\+xml|application\/(?:.+\+)?(?:xml|json|yaml|jsonl|javascript|sql|toml))$/;
/** Image types by their first bytes, in hexadecimal. */
const SIGNATURES: readonly (readonly [type: string, start: RegExp])[] = [
  ["image/png", /^89504e470d0a1a0a/],
  ["image/jpeg", /^ffd8ff/],
  ["image/gif", /^474946383[79]61/],
  ["image/webp", /^52494646.{8}57454250/],
];
const SIGNATURE_BYTES = 12;

/** Returns null if the file can only be downloaded. */
export function kindOf({ contentType, size }: ShownFile): Kind | null {
  const [type = ""] = contentType.toLowerCase().split(";");
  if (SIGNATURES.some(([known]) => known === type)) return size <= MAX_IMAGE_BYTES ? "image" : null;
  if (SEPARATORS[type] !== undefined) return "csv";
  if (/[/+]json$/.test(type) && size <= MAX_JSON_BYTES) return "json";
  return TEXT_TYPE.test(type) ? "text" : null;
}

export function Preview({ file, path }: { file: ShownFile; path: string }) {
  const { name, size, digest, contentType } = file;
  const kind = kindOf(file);
  const isWhole = size <= MAX_TEXT_BYTES || kind === "image" || kind === "json";
  const bytes = useResource(
    (signal) => readBytes(path, isWhole ? size : MAX_TEXT_BYTES, size, signal),
    [path, digest],
    "until loaded",
  );
  return (
    <div class="card-body">
      <Loaded resource={bytes}>
        {(data) =>
          kind === "image" ? (
            <Picture bytes={data} name={name} />
          ) : (
            <>
              <Shown kind={kind} text={decode(data)} name={name} separator={SEPARATORS[contentType] ?? ","} />
              {isWhole ? null : (
                <p class="muted small">
                  Showing the first {formatBytes(MAX_TEXT_BYTES)} of {formatBytes(size)}. Download the file to
                  see all of it.
                </p>
              )}
            </>
          )
        }
      </Loaded>
    </div>
  );
}

async function readBytes(path: string, length: number, size: number, signal: AbortSignal) {
  if (size === 0) return new Uint8Array();
  const response = await fetchPath(path, { signal, headers: { range: `bytes=0-${length - 1}` } });
  return new Uint8Array(await response.arrayBuffer());
}

/** Decodes without an incomplete character at the end. */
function decode(bytes: Uint8Array<ArrayBuffer>): string {
  return new TextDecoder().decode(bytes, { stream: true });
}

interface ShownProps {
  kind: Kind | null;
  text: string;
  name: string;
  separator: string;
}

function Shown({ kind, text, name, separator }: ShownProps) {
  const json = useMemo(() => (kind === "json" ? parseJson(text) : null), [kind, text]);
  if (text === "") return <p class="muted small">This file is empty.</p>;
  if (json !== null) return <JsonTree value={json.value} />;
  return (
    <Tail label={`Preview of ${visibleLine(name)}`} class="preview mono" isLive={false}>
      {kind === "csv" ? (
        <Sheet text={text} separator={separator} />
      ) : (
        visibleText(text.replaceAll("\r\n", "\n").slice(0, MAX_TEXT_BYTES))
      )}
    </Tail>
  );
}

/** Returns null if the text is not JSON; it is shown as text then. */
function parseJson(text: string): { value: unknown } | null {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return null;
  }
}

function Sheet({ text, separator }: { text: string; separator: string }) {
  const { rows, isCut } = useMemo(() => parseRows(text, separator), [text, separator]);
  const [head = [], ...body] = rows;
  return (
    <>
      <table class="sheet">
        <thead>
          <tr>
            {head.map((cell, column) => (
              <th key={column} scope="col">
                {visibleLine(cell)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {body.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column}>{visibleLine(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {isCut ? (
        <p class="muted small">
          The first {body.length} rows and at most {MAX_COLUMNS} columns. Download the file to see all of it.
        </p>
      ) : null}
    </>
  );
}

/** Parses RFC 4180 and tolerates other text. Returns only the first rows, columns and cell characters. */
function parseRows(text: string, separator: string): { rows: string[][]; isCut: boolean } {
  const rows: string[][] = [];
  let row: string[] = [];
  let isCut = false;
  const cells = new RegExp(
    `(?:"((?:[^"]|"")*)"?|([^${separator}\\r\\n]*))(${separator}|\\r?\\n|\\r|$)`,
    "gy",
  );
  for (const { 0: all, 1: quoted, 2: plain = "", 3: end, index } of text.matchAll(cells)) {
    const cell = quoted?.replaceAll('""', '"') ?? plain;
    if (row.length < MAX_COLUMNS) row.push(cell.slice(0, MAX_CELL_CHARACTERS));
    else isCut = true;
    if (end === separator) continue;
    rows.push(row);
    row = [];
    const next = index + all.length;
    if (next >= text.length) break;
    // The heading does not count as a row.
    if (rows.length > MAX_ROWS) return { rows, isCut: true };
  }
  return { rows, isCut };
}

function Picture({ bytes, name }: { bytes: Uint8Array<ArrayBuffer>; name: string }) {
  const [url, setUrl] = useState<string | null>(null);
  const type = useMemo(() => typeOfPicture(bytes), [bytes]);
  useEffect(() => {
    if (type === null) return;
    const made = URL.createObjectURL(new Blob([bytes], { type }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes, type]);
  if (type === null) return <p class="muted small">This image cannot be shown. Download it instead.</p>;
  return url === null ? null : <img class="preview-picture" src={url} alt={visibleLine(name)} />;
}

function typeOfPicture(bytes: Uint8Array): string | null {
  const start = Array.from(bytes.subarray(0, SIGNATURE_BYTES), (byte) => byte.toString(16).padStart(2, "0"));
  return SIGNATURES.find(([, signature]) => signature.test(start.join("")))?.[0] ?? null;
}
