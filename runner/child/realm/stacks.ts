/**
 * Stack texts as a script and a host may see them: only frames of the script, at the line and column it was submitted
 * with. `Error.prepareStackTrace` is locked so that no script gets hold of call sites, which know functions and files.
 */

import { cutAt } from "./json.ts";
import {
  defineHidden,
  ObjectDefineProperty,
  RealmError,
  RealmWeakMap,
  regExpExec,
  StringOf,
  weakMapGet,
  weakMapSet,
} from "./primordials.ts";

/** The name a script is compiled under; without other names, also that of its source. */
const SCRIPT_NAME = "script.ts";
const MAX_FRAMES = 50;
const MAX_NAME_CHARS = 200;
const MAX_HEADER_CHARS = 50_000;

export interface Position {
  /** 1-based, in the submitted source. */
  line: number;
  column: number;
  /** Index of the source file; the entry is the first. */
  source: number;
}

/** Generated column, source index, source line, source column; all 0-based. */
type Segment = readonly number[];

let mappings = "";
let sources: readonly string[] = [SCRIPT_NAME];
let decoded: readonly (readonly Segment[])[] | null = null;
const positions = new RealmWeakMap<object, Position>();

export function setMappings(text: string, names: readonly string[] = [SCRIPT_NAME]): void {
  mappings = text;
  sources = names;
  decoded = null;
}

/** The name of a source file. */
export function sourceName(source: number): string {
  return sources[source] ?? SCRIPT_NAME;
}

/** For a stack that was not formatted by this realm but copied into it: its first frame in a source file. */
export function readPosition(stack: string): Position | undefined {
  const found = regExpExec(FRAME, stack);
  if (found === null) return undefined;
  const line = +(found[2] as string);
  const column = +(found[3] as string);
  if (line < 1 || column < 1) return undefined;
  for (let source = 0; source < sources.length; source++) {
    if (sources[source] === found[1]) return { line, column, source };
  }
  return undefined;
}
const FRAME = /^ {4}at (?:async |new )?(?:[^\n]* \()?([^\n()]{1,300}):(\d{1,9}):(\d{1,9})\)?$/m;

/** The first script frame of an error whose stack was read before. */
export function positionOf(error: object): Position | undefined {
  return weakMapGet(positions, error) as Position | undefined;
}

/** Locks stack formatting; before any script runs. */
export function lockStacks(): void {
  ObjectDefineProperty(RealmError, "prepareStackTrace", {
    __proto__: null,
    get: () => formatStack,
    set: () => {},
    enumerable: false,
    configurable: false,
  } as PropertyDescriptor);
  // Embedders look the function up through the global binding: a script must not replace that with an object of its own.
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
    if (site.getFileName() !== SCRIPT_NAME) continue;
    const position = findSource(site.getLineNumber(), site.getColumnNumber());
    if (position === null) continue;
    first ??= position;
    text += `\n    at ${describeFrame(site, position)}`;
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

function describeFrame(site: NodeJS.CallSite, position: Position): string {
  const place = `${sourceName(position.source)}:${StringOf(position.line)}:${StringOf(position.column)}`;
  const name = site.getFunctionName();
  const prefix = (site as unknown as { isAsync(): boolean }).isAsync()
    ? "async "
    : site.isConstructor()
      ? "new "
      : "";
  if (name === null || name === "") return `${prefix}${place}`;
  return `${prefix}${cutAt(name, MAX_NAME_CHARS)} (${place})`;
}

/** Null for code the host put around the source. Without mappings the position is returned as it is. */
function findSource(line: number | null, column: number | null): Position | null {
  if (line === null || column === null) return null;
  if (mappings === "") return { line, column, source: 0 };
  decoded ??= decodeMappings(mappings);
  const segments = decoded[line - 1];
  if (segments === undefined) return null;
  let low = 0;
  let high = segments.length - 1;
  let found: Segment | undefined;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const segment = segments[middle] as Segment;
    if ((segment[0] as number) <= column - 1) {
      found = segment;
      low = middle + 1;
    } else high = middle - 1;
  }
  if (found === undefined || found.length < 4) return null;
  const [, source, sourceLine, sourceColumn] = found as [number, number, number, number];
  return sourceLine < 0 || sourceColumn < 0
    ? null
    : { line: sourceLine + 1, column: sourceColumn + 1, source };
}

function decodeMappings(text: string): readonly (readonly Segment[])[] {
  try {
    const { decode } = require("@jridgewell/sourcemap-codec") as typeof import("@jridgewell/sourcemap-codec");
    return decode(text);
  } catch {
    return [];
  }
}
