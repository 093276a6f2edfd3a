/** Splits and stems words in tools and questions the same way, so that they match. */
import { stemmer } from "stemmer";

const MAX_WORD_CHARACTERS = 40;
const MAX_KEPT_STEMS = 20_000;

const STOP_WORDS = new Set(
  `a an and are as at be been being by can could d did do does for from got had has have how i if in into is it its just
  let ll m may me my need no not now of on or our out please re really s should so some such t than that the their them
  then there these they this those to up us ve via want was we were what when where whether which who whom whose why will
  with would you your already any don doesn isn`.split(/\s+/),
);

const stems = new Map<string, string>();

/** Returns lower-case words, split at camelCase boundaries and at characters other than letters and digits. */
export function splitWords(text: string): string[] {
  return text
    .replaceAll(/(\p{Ll}|\d)(\p{Lu})/gu, "$1 $2")
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => word !== "")
    .map((word) => word.slice(0, MAX_WORD_CHARACTERS));
}

/** Uses Porter's algorithm for English: "issues" and "issue" have the same stem. */
export function stem(word: string): string {
  const known = stems.get(word);
  if (known !== undefined) return known;
  if (stems.size >= MAX_KEPT_STEMS) stems.clear();
  const made = stemmer(word);
  stems.set(word, made);
  return made;
}

export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}

export function toTrigrams(word: string): string[] {
  const padded = `  ${word} `;
  const pieces: string[] = [];
  for (let at = 0; at + 3 <= padded.length; at += 1) pieces.push(padded.slice(at, at + 3));
  return pieces;
}
