import { isStopWord, splitWords, stem, toTrigrams } from "./words.ts";

/** Length above which each word of a description counts less. */
const TYPICAL_DESCRIPTION_WORDS = 20;
const LONG_DESCRIPTION_COST = 0.3;
const MAX_DESCRIPTION_CHARACTERS = 2000;
const MAX_NAME_CHARACTERS = 500;
const MAX_PARAMETER_WORDS = 300;
const MAX_SCHEMA_NODES = 2000;
const MIN_CORRECTABLE_CHARACTERS = 3;
/** Minimum share of common trigrams for a correction. Low enough for two swapped letters in a short word. */
const MIN_LIKENESS = 0.25;
const MAX_ENUM_CHARACTERS = 40;

export const IN_PATH = 8;
export const IN_NAME = 4;
export const IN_DESCRIPTION = 2;
export const IN_PARAMETERS = 1;

export interface SearchableTool {
  serviceId: string;
  id: string;
  name: string;
  description: string;
  /** JSON Schema of the parameters. Search also covers their names and enum values. */
  inputSchema?: unknown;
  /** True if a call may change something; undefined if unknown. */
  destructive?: boolean | undefined;
}

export interface Entry {
  serviceId: string;
  id: string;
  /** Distinct stems of the tool; `fields` has, for each, the fields that contain it. */
  stems: string[];
  fields: Uint8Array;
  forms: string[];
  formStems: string[];
  changes: boolean | null;
  segments: string[];
  pathWords: number;
  /** Weight of description words, greater than 0 and at most 1; lower in long descriptions. */
  descriptionFactor: number;
}

export interface Posting {
  entries: Uint32Array;
  fields: Uint8Array;
}

/** Returns the fields of a tool by binary search, because places in a posting ascend. */
export function fieldsAt({ entries, fields }: Posting, at: number): number {
  let low = 0;
  let high = entries.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = entries[middle] as number;
    if (found === at) return fields[middle] ?? 0;
    if (found < at) low = middle + 1;
    else high = middle - 1;
  }
  return 0;
}

export interface Compiled {
  entries: Entry[];
  postings: Map<string, Posting>;
  /** Stems by trigram, for correcting misspellings. Built on first use. */
  pieces: Map<string, string[]> | null;
}

export function readEntry(tool: SearchableTool): Entry {
  const { serviceId, id, name, description, inputSchema } = tool;
  const fields = new Map<string, number>();
  const mark = (words: readonly string[], field: number) => {
    for (const word of words) fields.set(stem(word), (fields.get(stem(word)) ?? 0) | field);
  };
  const path = splitWords(`${serviceId} ${id}`);
  const described = splitWords(description.slice(0, MAX_DESCRIPTION_CHARACTERS));
  mark(path, IN_PATH);
  // In lower case, a path segment of several words is one word.
  mark([serviceId.toLowerCase(), ...id.toLowerCase().split(".")], IN_PATH);
  mark(splitWords(name.slice(0, MAX_NAME_CHARACTERS)), IN_NAME);
  mark(described, IN_DESCRIPTION);
  mark(readParameterWords(inputSchema), IN_PARAMETERS);
  const telling = splitWords(id).filter((word) => !isStopWord(word));
  const forms = [...new Set(telling)];
  return {
    serviceId,
    id,
    stems: [...fields.keys()],
    fields: Uint8Array.from(fields.values()),
    forms,
    formStems: forms.map(stem),
    changes: tool.destructive ?? null,
    segments: [...new Set([serviceId, id, ...id.split(".")].map((segment) => segment.toLowerCase()))],
    pathWords: path.length,
    descriptionFactor:
      1 / (1 + LONG_DESCRIPTION_COST * Math.log(1 + described.length / TYPICAL_DESCRIPTION_WORDS)),
  };
}

export function compile(entries: Entry[]): Compiled {
  const counts = new Map<string, number>();
  for (const { stems } of entries) for (const word of stems) counts.set(word, (counts.get(word) ?? 0) + 1);
  const postings = new Map<string, Posting & { length: number }>();
  for (const [word, count] of counts) {
    postings.set(word, { entries: new Uint32Array(count), fields: new Uint8Array(count), length: 0 });
  }
  for (const [at, { stems, fields }] of entries.entries()) {
    for (const [place, word] of stems.entries()) {
      const posting = postings.get(word);
      if (posting === undefined) continue;
      posting.entries[posting.length] = at;
      posting.fields[posting.length] = fields[place] ?? 0;
      posting.length += 1;
    }
  }
  return { entries, postings, pieces: null };
}

export function findAlike(index: Compiled, word: string): string[] {
  if (!isCorrectable(word)) return [];
  const pieces = toTrigrams(word);
  return [...countShared(index, pieces)]
    .map(([other, count]) => ({ other, likeness: count / (pieces.length + other.length + 1 - count) }))
    .filter(({ likeness }) => likeness >= MIN_LIKENESS)
    .sort((a, b) => b.likeness - a.likeness || (a.other < b.other ? -1 : 1))
    .map(({ other }) => other);
}

export function countShared(index: Compiled, pieces: Iterable<string>): Map<string, number> {
  index.pieces ??= collectPieces(index.postings.keys());
  const shared = new Map<string, number>();
  for (const piece of pieces) {
    for (const other of index.pieces.get(piece) ?? []) shared.set(other, (shared.get(other) ?? 0) + 1);
  }
  return shared;
}

function collectPieces(words: Iterable<string>): Map<string, string[]> {
  const pieces = new Map<string, string[]>();
  for (const word of words) {
    if (!isCorrectable(word)) continue;
    for (const piece of new Set(toTrigrams(word))) {
      const same = pieces.get(piece);
      if (same === undefined) pieces.set(piece, [word]);
      else same.push(word);
    }
  }
  return pieces;
}

function isCorrectable(word: string): boolean {
  return word.length >= MIN_CORRECTABLE_CHARACTERS && !/\d/.test(word);
}

function readParameterWords(schema: unknown): string[] {
  const names = new Set<string>();
  const open: unknown[] = [schema];
  for (let looked = 0; open.length > 0 && looked < MAX_SCHEMA_NODES; looked += 1) {
    const node = open.shift();
    if (typeof node !== "object" || node === null) continue;
    for (const [key, value] of Object.entries(node)) {
      if (key === "properties" && isObject(value)) {
        for (const name of Object.keys(value)) names.add(name);
        open.push(...Object.values(value).slice(0, MAX_SCHEMA_NODES));
      } else if (key === "enum" && Array.isArray(value)) {
        for (const one of value.slice(0, MAX_PARAMETER_WORDS)) {
          if (typeof one === "string" && one.length <= MAX_ENUM_CHARACTERS) names.add(one);
        }
      } else if (isObject(value)) open.push(value);
    }
  }
  return [...names].flatMap(splitWords).slice(0, MAX_PARAMETER_WORDS);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
