/**
 * In-memory tool search, used by servers and the local runtime. Any word of the question finds a tool; repeating a
 * word in a tool adds nothing. Rarity is computed among visible tools only, so that scores reveal nothing about
 * hidden ones.
 */
import {
  type Compiled,
  compile,
  countShared,
  type Entry,
  fieldsAt,
  findAlike,
  IN_DESCRIPTION,
  IN_NAME,
  IN_PARAMETERS,
  IN_PATH,
  type Posting,
  readEntry,
  type SearchableTool,
} from "./entries.ts";
import {
  type Alternative,
  asksForChange,
  type Concept,
  findSynonyms,
  readForms,
  readQuestion,
  readSegments,
} from "./question.ts";
import { splitWords, stem, toTrigrams } from "./words.ts";

const FIELD_WEIGHTS = { path: 12, name: 10, description: 5, parameter: 3 } as const;
/** Weight of a verb found in a description. It is low because descriptions often mention verbs of other actions. */
const VERB_IN_DESCRIPTION = 1;
/** Weight added for each part of the question that equals a complete path segment. */
const EXACT_SEGMENT_WEIGHT = 8;
const PREFIX_FACTOR = 0.75;
const MISSPELT_FACTOR = 0.5;
const PHRASE_FACTOR = 1.4;
/** A word found in this many tools counts about half as much as a word found in one. */
const RARITY_SCALE = 2000;
const COVERAGE_WEIGHT = 1;
/** Factor for a read-only tool when the question asks for a change, and vice versa. */
const OTHER_INTENT_FACTOR = 0.75;
/** Factor for another word form: "issues" in the question and "issue" in the path, or vice versa. */
const OTHER_FORM_FACTOR = 0.93;
const LENGTH_COST = 0.02;
const MAX_PREFIXED = 50;
const MAX_CORRECTIONS = 4;

export interface FoundTool {
  serviceId: string;
  id: string;
  /** Relevance, greater than 0; docs/mcp.md explains how it is computed. */
  score: number;
}

/** Returns true if the tool is visible. Called at most once per tool and search. */
export type Accepts = (tool: Pick<SearchableTool, "serviceId" | "id">) => boolean;

export interface SearchPage {
  /** Last tool of the previous page, or null for the first page. */
  after: FoundTool | null;
  limit: number;
}

export interface ToolIndex {
  /** Prepares a tool for `put`. This is the costly part, so callers can process a few tools at a time. */
  read(tool: SearchableTool): Entry;
  put(serviceId: string, tools: Entry[]): void;
  remove(serviceId: string): void;
  /** Returns tools that match any word, best first. Ties are sorted by path. */
  search(question: string, accepts: Accepts, page: SearchPage): FoundTool[];
  /** Fallback when nothing matches: returns the tools with the most similar paths, with score 0. */
  findNearest(question: string, accepts: Accepts, max: number): FoundTool[];
  listServices(accepts: Accepts): string[];
}

export function createToolIndex(): ToolIndex {
  const services = new Map<string, Entry[]>();
  let compiled: Compiled | null = null;

  return {
    read: readEntry,
    put(serviceId, tools) {
      services.set(serviceId, tools);
      compiled = null;
    },
    remove(serviceId) {
      if (services.delete(serviceId)) compiled = null;
    },
    search(question, accepts, page) {
      compiled ??= compile([...services.values()].flat());
      return rank(compiled, question, accepts, page);
    },
    findNearest(question, accepts, max) {
      const asked = new Set(splitWords(question).flatMap(toTrigrams));
      compiled ??= compile([...services.values()].flat());
      const shared = countShared(compiled, asked);
      const likenessOf = (word: string) => (2 * (shared.get(word) ?? 0)) / (asked.size + word.length + 1);
      const nearest: (FoundTool & { likeness: number })[] = [];
      for (const entry of [...services.values()].flat().filter(accepts)) {
        const { serviceId, id, formStems } = entry;
        const likeness = formStems.reduce((sum, word) => sum + likenessOf(word), 0) / (formStems.length || 1);
        nearest.push({ serviceId, id, score: 0, likeness });
        if (nearest.length > 2 * max) keepNearest(nearest, max);
      }
      keepNearest(nearest, max);
      return nearest.map(({ serviceId, id, score }) => ({ serviceId, id, score }));
    },
    listServices: (accepts) =>
      [...services].filter(([, entries]) => entries.some(accepts)).map(([serviceId]) => serviceId),
  };
}

interface Ranking {
  index: Compiled;
  isAccepted(at: number): boolean;
  scores: Float64Array;
  asked: Map<string, number>;
  /** Best alternative per tool for the current concept; the next member lists these tools. */
  best: Float64Array;
  touched: number[];
}

function rank(index: Compiled, question: string, accepts: Accepts, page: SearchPage): FoundTool[] {
  const { entries } = index;
  const verdicts = new Uint8Array(entries.length);
  const isAccepted = (at: number) => {
    if (verdicts[at] === 0) verdicts[at] = accepts(entries[at] as Entry) ? 1 : 2;
    return verdicts[at] === 1;
  };
  const ranking: Ranking = {
    index,
    isAccepted,
    scores: new Float64Array(entries.length),
    asked: new Map(),
    best: new Float64Array(entries.length),
    touched: [],
  };
  for (const concept of readQuestion(question)) addConcept(ranking, concept);
  finish(ranking, question);
  return takePage(entries, ranking.scores, page);
}

function addConcept(ranking: Ranking, concept: Concept): void {
  const { scores, best } = ranking;
  ranking.touched = [];
  for (const alternative of concept.alternatives) addAlternative(ranking, alternative, concept.isVerb);
  if (ranking.touched.length === 0 && concept.unknown !== null) {
    for (const alternative of guess(ranking, concept.unknown)) addAlternative(ranking, alternative, false);
  }
  let holders = 0;
  for (const at of ranking.touched) holders += Math.min(1, (best[at] as number) / FIELD_WEIGHTS.path);
  const factor = rarityOf(holders) * concept.weight;
  for (const at of ranking.touched) {
    scores[at] = (scores[at] as number) + (best[at] as number) * factor;
    best[at] = 0;
  }
}

function rarityOf(holders: number): number {
  return Math.log(1 + RARITY_SCALE / (1 + holders)) / Math.log(1 + RARITY_SCALE);
}

function addAlternative(ranking: Ranking, { stems, factor }: Alternative, isVerb: boolean): void {
  const { postings, entries } = ranking.index;
  const [first, ...others] = stems.map((word) => postings.get(word));
  if (first === undefined || others.includes(undefined)) return;
  for (const word of stems) ranking.asked.set(word, Math.max(factor, ranking.asked.get(word) ?? 0));
  for (let place = 0; place < first.entries.length; place += 1) {
    const at = first.entries[place] as number;
    if (!ranking.isAccepted(at)) continue;
    const entry = entries[at] as Entry;
    const fields = first.fields[place] as number;
    let sum = weigh(fields, entry, isVerb);
    if (others.length > 0) {
      const more = others.map((posting) => fieldsAt(posting as Posting, at));
      if ([fields, ...more].some((places) => (places & (IN_PATH | IN_NAME)) === 0)) continue;
      for (const places of more) sum += weigh(places, entry, isVerb);
      sum *= PHRASE_FACTOR / stems.length;
    }
    if (sum === 0) continue;
    if (ranking.best[at] === 0) ranking.touched.push(at);
    ranking.best[at] = Math.max(ranking.best[at] as number, sum * factor);
  }
}

function weigh(fields: number, { descriptionFactor }: Entry, isVerb: boolean): number {
  const { path, name, description, parameter } = FIELD_WEIGHTS;
  return (
    (fields & IN_PATH ? path : 0) +
    (fields & IN_NAME ? name : 0) +
    (fields & IN_DESCRIPTION ? (isVerb ? VERB_IN_DESCRIPTION : description * descriptionFactor) : 0) +
    (fields & IN_PARAMETERS && !isVerb ? parameter : 0)
  );
}

/** Finds stems for an unknown word: first as a prefix, then as a misspelling. */
function guess({ index, isAccepted }: Ranking, word: string): Alternative[] {
  const isFindable = (other: string) => index.postings.get(other)?.entries.some(isAccepted) ?? false;
  const begun = [...index.postings.keys()]
    .filter((other) => other.startsWith(word) && isFindable(other))
    .sort()
    .slice(0, MAX_PREFIXED)
    .map((other) => ({ stems: [other], factor: PREFIX_FACTOR }));
  if (begun.length > 0) return begun;
  return findAlike(index, stem(word))
    .filter(isFindable)
    .slice(0, MAX_CORRECTIONS)
    .flatMap((other) => [
      { stems: [other], factor: MISSPELT_FACTOR },
      ...findSynonyms(other).map(({ stems, factor }) => ({ stems, factor: factor * MISSPELT_FACTOR })),
    ]);
}

function finish({ index, scores, asked }: Ranking, question: string): void {
  const segments = readSegments(question);
  const forms = readForms(question);
  const isChange = asksForChange(question);
  for (let at = 0; at < scores.length; at += 1) {
    const words = scores[at] as number;
    if (words === 0) continue;
    const entry = index.entries[at] as Entry;
    let exact = 0;
    for (let place = 0; place < entry.segments.length; place += 1) {
      if (segments.has(entry.segments[place] as string)) exact += 1;
    }
    let otherForms = 0;
    let covered = 0;
    for (let place = 0; place < entry.forms.length; place += 1) {
      const sureness = asked.get(entry.formStems[place] as string);
      if (sureness === undefined) continue;
      covered += sureness;
      if (forms.get(entry.formStems[place] as string)?.has(entry.forms[place] as string) === false)
        otherForms += 1;
    }
    const isOtherIntent = isChange !== null && entry.changes !== null && isChange !== entry.changes;
    const coverage = covered / (entry.forms.length || 1);
    const score =
      ((words + EXACT_SEGMENT_WEIGHT * exact) *
        (1 + COVERAGE_WEIGHT * coverage) *
        (isOtherIntent ? OTHER_INTENT_FACTOR : 1) *
        OTHER_FORM_FACTOR ** otherForms) /
      (1 + LENGTH_COST * entry.pathWords);
    scores[at] = Math.round(score * 1000) / 1000;
  }
}

/** Selects the best tools after `after` without sorting all matches. */
function takePage(
  entries: readonly Entry[],
  scores: Float64Array,
  { after, limit }: SearchPage,
): FoundTool[] {
  const isBehind = (at: number) => {
    if (after === null || (scores[at] as number) < after.score) return true;
    return scores[at] === after.score && comparePaths(entries[at] as Entry, after) > 0;
  };
  const places: number[] = [];
  for (let at = 0; at < scores.length; at += 1) if (scores[at] !== 0 && isBehind(at)) places.push(at);
  const sorted = Float64Array.from(places, (at) => scores[at] as number).sort();
  const least = sorted[Math.max(0, sorted.length - limit)] ?? 0;
  return places
    .filter((at) => (scores[at] as number) >= least)
    .map((at) => {
      const { serviceId, id } = entries[at] as Entry;
      return { serviceId, id, score: scores[at] as number };
    })
    .sort((a, b) => b.score - a.score || comparePaths(a, b))
    .slice(0, limit);
}

function comparePaths(a: Omit<FoundTool, "score">, b: Omit<FoundTool, "score">): number {
  if (a.serviceId !== b.serviceId) return a.serviceId < b.serviceId ? -1 : 1;
  return a.id === b.id ? 0 : a.id < b.id ? -1 : 1;
}

function keepNearest(found: (FoundTool & { likeness: number })[], max: number): void {
  found.sort((a, b) => b.likeness - a.likeness || comparePaths(a, b)).splice(max);
}
