import { NOUNS, VERBS } from "./synonyms.ts";
import { isStopWord, splitWords, stem } from "./words.ts";

const MAX_WORDS = 24;
const MAX_PHRASE_WORDS = 4;
const SYNONYM_FACTOR = 0.85;
const PART_FACTOR = 0.6;
/** Weight of verbs. They count less because nearly every tool has one and questions choose theirs freely. */
const VERB_WEIGHT = 0.8;

/** Stems that match part of a question; all of them must be present. */
export interface Alternative {
  stems: readonly string[];
  factor: number;
}

/** A word in the question, or several words that form one term. */
export interface Concept {
  alternatives: Alternative[];
  weight: number;
  /** True for a verb, which is matched against the tool's path and name but not its description. */
  isVerb: boolean;
  /** The word itself if no synonym list contains it: it may be misspelled or a prefix. */
  unknown: string | null;
}

/** Opening words that do not show whether the question asks for reading or changing. */
const OPENING = wordSet("please i we you want to need would like can could my our a an the just now also");
const READING =
  wordSet(`which who whose what how is are did does do was were has show list get find see all every when
  where why view read look download search tell names check fetch count compare`);
const CHANGING =
  wordSet(`add create make new set change update edit modify delete remove drop rename turn switch let give take
  kick stop start cancel close reopen open mark replace fix put send upload attach store import approve accept decline reject
  invite enable disable protect clear undo undelete restore throw erase publish register announce raise lower disband confirm
  promote load subscribe join leave move transfer lock unlock block unblock pin unpin star unstar follow unfollow merge assign
  unassign request submit save write post insert revoke reset rerun restart retry cancel pause resume hang mute archive grant
  allow forbid suspend trigger run upgrade install uninstall buy`);

interface Synonym {
  stems: string[];
  isVerb: boolean;
}

const synonyms = new Map<string, Synonym[]>();
readSynonyms(VERBS, true);
readSynonyms(NOUNS, false);

/** Returns an empty list if the question has no words. Ignores words after the 24th. */
export function readQuestion(question: string): Concept[] {
  const words = splitWords(question).slice(0, MAX_WORDS);
  const stemmed = words.map(stem);
  const concepts = new Map<string, Concept>();
  for (let at = 0; at < words.length; ) {
    const length = measurePhrase(stemmed, at);
    const key = stemmed.slice(at, at + length).join(" ");
    const concept = makeConcept(key, words.slice(at, at + length));
    if (concept !== null) concepts.set(key, concept);
    at += length;
  }
  if (concepts.size > 0) return [...concepts.values()];
  // If a question consists only of stop words, search for those.
  return words.map((word) => toConcept([{ stems: [stem(word)], factor: 1 }], false, word));
}

/** Returns whether the question asks for a change, judged by its first significant word, or null if there is none. */
export function asksForChange(question: string): boolean | null {
  const first = splitWords(question.slice(0, 100)).find((word) => !OPENING.has(word));
  if (first === undefined) return null;
  return READING.has(first) ? false : CHANGING.has(first) ? true : null;
}

export function readForms(question: string): Map<string, Set<string>> {
  const forms = new Map<string, Set<string>>();
  for (const word of splitWords(question)) {
    const same = forms.get(stem(word));
    if (same === undefined) forms.set(stem(word), new Set([word]));
    else same.add(word);
  }
  return forms;
}

/** Returns the text between spaces, dots and slashes, each of which may be a complete path segment. */
export function readSegments(question: string): Set<string> {
  return new Set(question.toLowerCase().split(/[\s./]+/));
}

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(/\s+/));
}

export function findSynonyms(word: string): Alternative[] {
  return (synonyms.get(word) ?? []).map(({ stems }) => ({ stems, factor: SYNONYM_FACTOR }));
}

function measurePhrase(stemmed: readonly string[], at: number): number {
  for (let length = Math.min(MAX_PHRASE_WORDS, stemmed.length - at); length > 1; length -= 1) {
    if (synonyms.has(stemmed.slice(at, at + length).join(" "))) return length;
  }
  return 1;
}

function makeConcept(key: string, words: readonly string[]): Concept | null {
  const others = synonyms.get(key) ?? [];
  const isVerb = others.length > 0 && others.every((other) => other.isVerb);
  const telling = words.filter((word) => !isStopWord(word)).map(stem);
  if (telling.length === 0 && others.length === 0) return null;
  const alternatives: Alternative[] = telling.length > 0 ? [{ stems: telling, factor: 1 }] : [];
  if (telling.length > 1 && !isVerb) {
    for (const part of telling) alternatives.push({ stems: [part], factor: PART_FACTOR });
  }
  alternatives.push(...findSynonyms(key));
  const isUnknown = words.length === 1 && others.length === 0;
  return toConcept(alternatives, isVerb, isUnknown ? (words[0] ?? null) : null);
}

function toConcept(alternatives: Alternative[], isVerb: boolean, unknown: string | null): Concept {
  return { alternatives, weight: isVerb ? VERB_WEIGHT : 1, isVerb, unknown };
}

function readSynonyms(list: string, isVerb: boolean): void {
  for (const entry of list.split(/[;\n]/)) {
    const [target, said] = entry.split(":");
    if (target === undefined || said === undefined) continue;
    const stems = splitWords(target).map(stem);
    for (const phrase of [target, ...said.split(",")]) {
      const key = splitWords(phrase).map(stem).join(" ");
      const known = synonyms.get(key);
      if (known === undefined) synonyms.set(key, [{ stems, isVerb }]);
      else known.push({ stems, isVerb });
    }
  }
}
