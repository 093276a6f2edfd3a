/** The forms in which a secret value turns up in text: as it is, escaped as JSON, percent-encoded, in base64. Pure. */

/** Shorter values are not looked for: they would be found in ordinary text. */
export const MIN_SECRET_CHARACTERS = 8;
const MIN_FORM_CHARACTERS = 8;
const MAX_VALUES_PER_OWNER = 1000;
const MAX_DEPTH = 32;
const LATIN1_ONLY = /^[\0-\xff]*[\x80-\xff][\0-\xff]*$/;
const BITS_PER_BYTE = 8;
const BITS_PER_DIGIT = 6;
const AUTHORIZATION = /^(?:bearer|basic|token|apikey|api-key)\s+(\S+)$/i;

/** Every string and number in the values of an owner that is long enough to be looked for. Names of fields are none. */
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

/** A value as it was set, without the space round it, and without the scheme of an authorization header. */
function listSpellings(value: string): string[] {
  const trimmed = value.trim();
  if (trimmed === "") return [];
  const credential = AUTHORIZATION.exec(trimmed)?.[1];
  return credential === undefined ? [value, trimmed] : [value, trimmed, credential];
}

/** All forms of one value, itself first; none is shorter than 8 characters. */
export function listForms(value: string): string[] {
  const percent = encodeURIComponent(value);
  const forms = new Set([
    value,
    ...listJsonForms(value),
    percent,
    percent.replaceAll(/%[0-9A-F]{2}/g, (digits) => digits.toLowerCase()),
    // As forms and query strings are written: a space is a plus sign, and more is escaped.
    new URLSearchParams([["", value]]).toString().slice(1),
    ...listBase64Forms(Buffer.from(value)),
    // As header values carry what is not ASCII.
    ...(LATIN1_ONLY.test(value) ? listBase64Forms(Buffer.from(value, "latin1")) : []),
  ]);
  // Names of headers come in lower case, whatever they were sent in.
  for (const form of [...forms]) forms.add(form.toLowerCase());
  // JSON text holds a form in its escaped shape: what is looked for there has to be known too.
  for (const form of [...forms]) forms.add(escapeJson(form));
  return [...forms].filter((form) => form.length >= MIN_FORM_CHARACTERS);
}

/** Escaped once and twice (JSON inside of JSON), and the ways of other languages: `\/`, and ASCII only. */
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
 * Base64 packs three bytes into four digits, so a value inside of longer data (`user:password`) has one of three
 * shapes. Digits that also depend on its neighbours are left out.
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
  // By itself, to its last digit and with its padding.
  forms.push(bytes.toString("base64"), bytes.toString("base64url"));
  return forms;
}
