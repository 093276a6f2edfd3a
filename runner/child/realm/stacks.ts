/**
 * Formats stacks for scripts and hosts: they contain only frames of the script, with the submitted lines and columns,
 * and of packages, with their own lines. `Error.prepareStackTrace` is locked so that no script gets call sites, which
 * expose functions and files.
 */

import { cutAt } from "./json/encode.ts";
import {
  charCodeAt,
  defineHidden,
  indexOf,
  JSONParse,
  JSONStringify,
  mapGet,
  mapSet,
  ObjectDefineProperty,
  RealmError,
  RealmInt32Array,
  RealmMap,
  RealmWeakMap,
  regExpExec,
  StringOf,
  slice,
  typedArrayLength,
  weakMapGet,
  weakMapSet,
} from "./primordials.ts";

/** File name of the compiled script. Without other names, it also names the source. */
const SCRIPT_NAME = "script.ts";
const MAX_FRAMES = 50;
const MAX_NAME_CHARS = 200;
const MAX_HEADER_CHARS = 50_000;

export interface Position {
  /** 1-based line in the submitted source. */
  line: number;
  column: number;
  /** Index of the source file. The entry file is the first. */
  source: number;
}

let mappings = "";
let sources: readonly string[] = [SCRIPT_NAME];
let decoded: Int32Array | null = null;

/** Prefix of a package's file name, followed by its digest. */
const PACKAGE_NAME = "cyrnel:package/";

interface PackageMap {
  sources: readonly string[];
  segments: Int32Array;
}

let readPackageMap: (digest: string) => unknown = () => undefined;
const packageMaps = new RealmMap<string, PackageMap>();

/** `read` returns a package's source mappings as JSON text. Any other value means that they are unknown. */
export function showPackages(read: (digest: string) => unknown): void {
  readPackageMap = read;
}
const positions = new RealmWeakMap<object, Position>();

export function setMappings(text: string, names: readonly string[] = [SCRIPT_NAME]): void {
  mappings = text;
  sources = names;
  decoded = null;
}

export function sourceName(source: number): string {
  return sources[source] ?? SCRIPT_NAME;
}

/** Returns the first source position in a stack that was copied into this realm, not formatted by it. */
export function readPosition(stack: string): Position | undefined {
  FRAME.lastIndex = 0;
  for (let count = 0; count < MAX_FRAMES; count++) {
    const found = regExpExec(FRAME, stack);
    if (found === null) return undefined;
    const line = +(found[2] as string);
    const column = +(found[3] as string);
    if (line < 1 || column < 1) return undefined;
    for (let source = 0; source < sources.length; source++) {
      if (sources[source] === found[1]) return { line, column, source };
    }
  }
  return undefined;
}
const FRAME = /^ {4}at (?:async |new )?(?:[^\n]* \()?([^\n()]{1,400}):(\d{1,9}):(\d{1,9})\)?$/gm;

/** Returns the first script frame of an error whose stack was read earlier. */
export function positionOf(error: object): Position | undefined {
  return weakMapGet(positions, error) as Position | undefined;
}

/** Returns the first script frame of an error of the realm. Formats its stack, which takes a few microseconds. */
export function locate(error: Error): Position | undefined {
  try {
    void error.stack;
  } catch {
    // The script has changed something that looking up the stack uses.
  }
  return positionOf(error);
}

export function encodePlace(id: number, { line, source }: Position): string {
  const file = source === 0 ? "" : `,"file":${JSONStringify(sourceName(source))}`;
  return `{"id":${StringOf(id)},"line":${StringOf(line)}${file}}`;
}

/** Locks stack formatting. Call before any script runs. */
export function lockStacks(): void {
  ObjectDefineProperty(RealmError, "prepareStackTrace", {
    __proto__: null,
    get: () => formatStack,
    set: () => {},
    enumerable: false,
    configurable: false,
  } as PropertyDescriptor);
  // Embedders look up the function through the global binding, so a script must not replace that.
  ObjectDefineProperty(globalThis, "Error", {
    __proto__: null,
    value: RealmError,
    enumerable: false,
    configurable: false,
    writable: false,
  } as PropertyDescriptor);
  defineHidden(RealmError, "stackTraceLimit", 20);
  ObjectDefineProperty(RealmError, "stackTraceLimit", {
    __proto__: null,
    enumerable: true,
  } as PropertyDescriptor);
}

function formatStack(error: unknown, sites: NodeJS.CallSite[]): string {
  let text = describeHeader(error);
  let first: Position | null = null;
  for (let index = 0; index < sites.length && index < MAX_FRAMES; index++) {
    const site = sites[index] as NodeJS.CallSite;
    const file = site.getFileName();
    const place = file === SCRIPT_NAME ? null : findPackagePlace(file, site);
    if (place !== null) {
      text += `\n    at ${describeFrame(site, place)}`;
      continue;
    }
    if (file !== SCRIPT_NAME) continue;
    const position = findSource(site.getLineNumber(), site.getColumnNumber());
    if (position === null) continue;
    first ??= position;
    const { line, column, source } = position;
    text += `\n    at ${describeFrame(site, `${sourceName(source)}:${StringOf(line)}:${StringOf(column)}`)}`;
  }
  if (first !== null && typeof error === "object" && error !== null) weakMapSet(positions, error, first);
  return text;
}

function describeHeader(error: unknown): string {
  try {
    const { name, message } = error as { name: unknown; message: unknown };
    const title = name === undefined ? "Error" : StringOf(name);
    const detail = message === undefined ? "" : StringOf(message);
    return cutAt(title === "" ? detail : detail === "" ? title : `${title}: ${detail}`, MAX_HEADER_CHARS);
  } catch {
    return "Error";
  }
}

function describeFrame(site: NodeJS.CallSite, place: string): string {
  const name = site.getFunctionName();
  const prefix = (site as unknown as { isAsync(): boolean }).isAsync()
    ? "async "
    : site.isConstructor()
      ? "new "
      : "";
  if (name === null || name === "") return `${prefix}${place}`;
  return `${prefix}${cutAt(name, MAX_NAME_CHARS)} (${place})`;
}

/** Returns a place such as `zod@4.1.2/v4/core.js:12:3`, or null for code outside a package or outside its files. */
function findPackagePlace(file: unknown, site: NodeJS.CallSite): string | null {
  if (typeof file !== "string" || indexOf(file, PACKAGE_NAME) !== 0) return null;
  const digest = slice(file, PACKAGE_NAME.length);
  let map = mapGet(packageMaps, digest) as PackageMap | undefined;
  if (map === undefined) {
    map = parsePackageMap(readPackageMap(digest));
    mapSet(packageMaps, digest, map);
  }
  const line = site.getLineNumber();
  const column = site.getColumnNumber();
  const found = line === null || column === null ? null : findSegment(map.segments, line, column);
  const name = found === null ? undefined : map.sources[found.source];
  if (found === null || typeof name !== "string" || regExpExec(PACKAGE_FILE, name) === null) return null;
  return `${name}:${StringOf(found.line)}:${StringOf(found.column)}`;
}

/** Matches only names that cannot forge a stack. */
const PACKAGE_FILE = /^(?:@[\w.~-]+\/)?[\w.~-]+@[\w.+~-]+\/[\w@./+~ -]{1,250}$/;

function parsePackageMap(text: unknown): PackageMap {
  try {
    const map = JSONParse(text as string) as { sources: string[]; mappings: string };
    return { sources: map.sources, segments: decodeMappings(map.mappings) };
  } catch {
    return { sources: [], segments: new RealmInt32Array(0) };
  }
}

/** Returns null for code that the host put around the source. Without mappings, returns the position unchanged. */
function findSource(line: number | null, column: number | null): Position | null {
  if (line === null || column === null) return null;
  if (mappings === "") return { line, column, source: 0 };
  decoded ??= decodeMappings(mappings);
  return findSegment(decoded, line, column);
}

/** Generated line and column, source index, source line and column; all 0-based. */
const FIELDS = 5;

/** Finds the last segment of a line that begins at or before a column. Line and column are 1-based. */
function findSegment(segments: Int32Array, line: number, column: number): Position | null {
  let low = 0;
  let high = typedArrayLength(segments) / FIELDS;
  while (low < high) {
    const middle = (low + high) >> 1;
    const at = middle * FIELDS;
    const ahead = (segments[at] as number) - (line - 1) || (segments[at + 1] as number) - (column - 1);
    if (ahead <= 0) low = middle + 1;
    else high = middle;
  }
  const at = (low - 1) * FIELDS;
  const source = segments[at + 2] as number;
  if (low === 0 || segments[at] !== line - 1 || source < 0) return null;
  return { line: (segments[at + 3] as number) + 1, column: (segments[at + 4] as number) + 1, source };
}

const [COMMA, SEMICOLON] = [0x2c, 0x3b];

/**
 * Decodes source map mappings into FIELDS numbers per segment. A library would add a millisecond of loading to every
 * run that shows a line.
 */
function decodeMappings(text: string): Int32Array {
  let count = 1;
  for (let index = 0; index < text.length; index++) {
    const code = charCodeAt(text, index);
    if (code === COMMA || code === SEMICOLON) count++;
  }
  const segments = new RealmInt32Array(count * FIELDS);
  // Each number is relative to the previous segment.
  const now = new RealmInt32Array(FIELDS);
  let segment = 0;
  let field = 1;
  let value = 0;
  let shift = 0;
  for (let index = 0; index <= text.length; index++) {
    const code = index < text.length ? charCodeAt(text, index) : SEMICOLON;
    if (code !== COMMA && code !== SEMICOLON) {
      const digit = fromBase64(code);
      value |= (digit & 31) << shift;
      shift += 5;
      if ((digit & 32) !== 0) continue;
      if (field < FIELDS) now[field] = (now[field] as number) + (value & 1 ? -(value >>> 1) : value >>> 1);
      field++;
      value = 0;
      shift = 0;
      continue;
    }
    // An empty segment marks the end of its line, so a search finds it only after all others.
    for (let to = 0; to < FIELDS; to++) segments[segment * FIELDS + to] = now[to] as number;
    if (field < FIELDS) segments[segment * FIELDS + 2] = -1;
    segment++;
    field = 1;
    if (code === SEMICOLON) {
      now[0] = (now[0] as number) + 1;
      now[1] = 0;
    }
  }
  return segments;
}

function fromBase64(code: number): number {
  if (code >= 0x61) return code - 71;
  if (code >= 0x41) return code - 65;
  if (code >= 0x30) return code + 4;
  return code === 0x2b ? 62 : 63;
}
