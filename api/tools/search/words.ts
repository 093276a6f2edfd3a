/** A search query as words: split as `tool_words` of the database splits, so that both sides meet. Pure. */

const MAX_WORDS = 8;
const MAX_WORD_CHARACTERS = 40;

export interface SearchWords {
  /** Lower case; all of them have to match. */
  words: string[];
  /** What stood between spaces and dots, lower case: may be a whole segment of a path. */
  segments: string[];
}

/** English words that say nothing about a tool: they need not match where other words are asked for. */
const FUNCTION_WORDS = new Set(
  "a an and are as at be by for from how i in into is it me my of on or that the their them this to via we what which with you".split(
    " ",
  ),
);

/** Words beyond the eighth are ignored. No words at all: the query says nothing. */
export function splitQuery(query: string): SearchWords {
  const words = query
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .toLowerCase()
    .split(SEPARATORS)
    .map((word) => word.slice(0, MAX_WORD_CHARACTERS))
    .filter((word) => word !== "");
  const telling = words.filter((word) => !FUNCTION_WORDS.has(word));
  const segments = query
    .toLowerCase()
    .split(/[\s./]+/)
    .filter((segment) => segment !== "" && segment.length <= 200);
  return {
    words: [...new Set(telling.length > 0 ? telling : words)].slice(0, MAX_WORDS),
    segments: [...new Set(segments)].slice(0, MAX_WORDS),
  };
}

/** Whether a word can be one of the vocabulary, misspelt. */
export function isCorrectable(word: string): boolean {
  return word.length >= 3 && !/[0-9]/.test(word);
}

/** Everything of ASCII that is neither letter nor digit, and what Unicode calls a space. */
const SEPARATORS = /[\0-/:-@[-`{-\x7f\s]+/;

/** A word, or words of which any may stand there, as an operand of a tsquery; weight letters restrict the fields. */
export function toLexeme(word: string, suffix: string): string {
  // The separators are gone, quotes and backslashes with them; the quotes keep the rest one lexeme.
  return `'${word}'${suffix}`;
}
