import { splitWords, toTrigrams } from "#kernel/tool-search/words.ts";

const MIN_SIMILARITY = 0.3;

/** Returns at most `max` candidates, most similar first. Omits dissimilar ones. */
export function pickSimilar(asked: string, candidates: readonly string[], max: number): string[] {
  const wanted = toPieces(asked);
  return candidates
    .map((candidate) => ({ candidate, similarity: compareSets(wanted, toPieces(candidate)) }))
    .filter(({ similarity }) => similarity >= MIN_SIMILARITY)
    .sort((left, right) => right.similarity - left.similarity || (left.candidate < right.candidate ? -1 : 1))
    .slice(0, max)
    .map(({ candidate }) => candidate);
}

/** Includes single letters, because two swapped letters in a short word leave few common trigrams. */
function toPieces(text: string): Set<string> {
  const pieces = new Set<string>();
  for (const word of splitWords(text.slice(0, 200))) for (const piece of toTrigrams(word)) pieces.add(piece);
  for (const letter of text.toLowerCase().slice(0, 200)) pieces.add(letter);
  return pieces;
}

function compareSets(left: ReadonlySet<string>, right: ReadonlySet<string>): number {
  let shared = 0;
  for (const one of left) if (right.has(one)) shared += 1;
  return (2 * shared) / (left.size + right.size || 1);
}
