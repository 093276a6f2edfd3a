/** Lists the forms in which a secret may appear in text: plain, escaped as JSON, percent-encoded, base64. */

/** Minimum length of a secret: shorter values would match ordinary text. */
export const MIN_SECRET_CHARACTERS = 8;
const MIN_FORM_CHARACTERS = 8;
const MAX_VALUES_PER_OWNER = 1000;
const MAX_DEPTH = 32;
const LATIN1_ONLY = /^[\0-\xff]*[\x80-\xff][\0-\xff]*$/;
const BITS_PER_BYTE = 8;
const BITS_PER_DIGIT = 6;
const AUTHORIZATION = /^(?:bearer|basic|token|apikey|api-key)\s+(\S+)$/i;

export function collectValues(values: unknown): Set<string> {
  const found = new Set<string>();
  const visit = (value: unknown, depth: number) => {
    if (found.size >= MAX_VALUES_PER_OWNER || depth > MAX_DEPTH) return;
    if (typeof value === "string" || typeof value === "number" || typeof value === "bigint") {
      for (const text of listSpellings(String(value).toWellFormed())) {
        if (text.length >= MIN_SECRET_CHARACTERS) found.add(text);
      }
    } else if (value !== null && typeof value === "object") {
      for (const member of Object.values(value)) visit(member, depth + 1);
    }
  };
  visit(values, 0);
  return found;
}

/** Lists the value as it is, without surrounding space, and without the scheme of an authorization header. */
function listSpellings(value: string): string[] {
  const trimmed = value.trim();
  if (trimmed === "") return [];
  const credential = AUTHORIZATION.exec(trimmed)?.[1];
  return credential === undefined ? [value, trimmed] : [value, trimmed, credential];
}

export function listForms(value: string): string[] {
  const percent = encodeURIComponent(value);
  const forms = new Set([
    value,
    ...listJsonForms(value),
    percent,
    percent.replaceAll(/%[0-9A-F]{2}/g, (digits) => digits.toLowerCase()),
    // In HTML forms and query strings, a space is a plus sign and more characters are escaped.
    new URLSearchParams([["", value]]).toString().slice(1),
    ...listBase64Forms(Buffer.from(value)),
    // Header values carry UTF-8 as Latin-1.
    ...(LATIN1_ONLY.test(value) ? listBase64Forms(Buffer.from(value, "latin1")) : []),
  ]);
  for (const form of [...forms]) forms.add(form.toLowerCase());
  for (const form of [...forms]) forms.add(escapeJson(form));
  return [...forms].filter((form) => form.length >= MIN_FORM_CHARACTERS);
}

/**
 * Returns the value escaped once and twice (JSON inside JSON), and as other languages escape it: with `\/`, or ASCII
 * only.
 */
function listJsonForms(value: string): string[] {
  const once = escapeJson(value);
  const asciiOnly = once.replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return [once, escapeJson(once), once.replaceAll("/", "\\/"), asciiOnly];
}

function escapeJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/**
 * Returns three base64 forms: three bytes become four digits, so a value inside longer data (`user:password`) can be
 * aligned in three ways. Omits digits that also depend on neighbouring bytes.
 */
function listBase64Forms(bytes: Buffer): string[] {
  const forms: string[] = [];
  for (const precedingBytes of [0, 1, 2]) {
    const digits = Buffer.concat([Buffer.alloc(precedingBytes), bytes]).toString("base64url");
    const firstOwn = Math.ceil((precedingBytes * BITS_PER_BYTE) / BITS_PER_DIGIT);
    const endOfOwn = Math.floor(((precedingBytes + bytes.length) * BITS_PER_BYTE) / BITS_PER_DIGIT);
    const own = digits.slice(firstOwn, endOfOwn);
    forms.push(own, own.replaceAll("-", "+").replaceAll("_", "/"));
  }
  forms.push(bytes.toString("base64"), bytes.toString("base64url"));
  return forms;
}
