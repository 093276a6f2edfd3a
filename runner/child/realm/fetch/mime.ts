/** MIME types (MIME Sniffing standard, sections 4.4 and 4.5; Fetch standard, "extract a MIME type"). */

export interface MimeType {
  /** `type/subtype` in lower case. */
  essence: string;
  parameters: Map<string, string>;
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const QUOTABLE = /^[\t\x20-\x7e\x80-\xff]*$/;
const SPACES = /^[\t\n\r ]+|[\t\n\r ]+$/g;

export function parseMime(input: string): MimeType | null {
  const text = input.replace(SPACES, "");
  const end = indexOrEnd(text, ";");
  const [type = "", subtype = "", ...more] = text.slice(0, end).split("/");
  const essence = `${type}/${subtype.trimEnd()}`.toLowerCase();
  if (more.length > 0 || !TOKEN.test(type) || !TOKEN.test(subtype.replace(SPACES, ""))) return null;
  if (/^[\t\n\r ]/.test(subtype)) return null;
  return { essence, parameters: parseParameters(text.slice(end)) };
}

function parseParameters(text: string): Map<string, string> {
  const parameters = new Map<string, string>();
  for (let at = 0; at < text.length; ) {
    at++;
    while (/[\t\n\r ]/.test(text[at] ?? "")) at++;
    const from = at;
    while (at < text.length && text[at] !== ";" && text[at] !== "=") at++;
    const name = text.slice(from, at).toLowerCase();
    if (text[at] !== "=") continue;
    at++;
    let value: string;
    if (text[at] === '"') {
      [value, at] = readQuoted(text, at);
      at += indexOrEnd(text.slice(at), ";");
    } else {
      const end = at + indexOrEnd(text.slice(at), ";");
      value = text.slice(at, end).replace(/[\t\n\r ]+$/, "");
      at = end;
      if (value === "") continue;
    }
    if (TOKEN.test(name) && QUOTABLE.test(value) && !parameters.has(name)) parameters.set(name, value);
  }
  return parameters;
}

export function readQuoted(text: string, start: number): [value: string, end: number] {
  let value = "";
  let at = start + 1;
  for (; at < text.length; at++) {
    const unit = text[at];
    if (unit === '"') return [value, at + 1];
    if (unit === "\\") {
      at++;
      value += text[at] ?? "\\";
    } else value += unit;
  }
  return [value, at];
}

function indexOrEnd(text: string, unit: string): number {
  const index = text.indexOf(unit);
  return index === -1 ? text.length : index;
}

export function serializeMime({ essence, parameters }: MimeType): string {
  let text = essence;
  for (const [name, value] of parameters) {
    text += `;${name}=${value !== "" && TOKEN.test(value) ? value : `"${value.replace(/["\\]/g, "\\$&")}"`}`;
  }
  return text;
}

/** Returns the last valid type of a `content-type` header, which may join several. */
export function extractMime(value: string | null): MimeType | null {
  if (value === null) return null;
  let found: MimeType | null = null;
  let charset: string | undefined;
  for (const part of splitList(value)) {
    const mime = parseMime(part);
    if (mime === null || mime.essence === "*/*") continue;
    if (mime.essence !== found?.essence) charset = mime.parameters.get("charset");
    else if (!mime.parameters.has("charset") && charset !== undefined)
      mime.parameters.set("charset", charset);
    found = mime;
    charset = mime.parameters.get("charset") ?? charset;
  }
  return found;
}

/** Splits at commas outside quotation marks. */
function splitList(text: string): string[] {
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; at < text.length; ) {
    if (text[at] === '"') at = readQuoted(text, at)[1];
    else if (text[at] === ",") {
      parts.push(text.slice(from, at));
      at++;
      from = at;
    } else at++;
  }
  return [...parts, text.slice(from)];
}
