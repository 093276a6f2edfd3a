/** How alike two identifiers are, by the three-letter pieces of their words: order of words does not count. Pure. */
import { splitQuery } from "./words.ts";

const MIN_SIMILARITY = 0.3;

/** The most alike first, `max` at most; none that have little in common with `asked`. */
export function pickSimilar(asked: string, candidates: readonly string[], max: number): string[] {
  const wanted = toPieces(asked);
  return candidates
    .map((candidate) => ({ candidate, similarity: compare(wanted, toPieces(candidate)) }))
    .filter(({ similarity }) => similarity >= MIN_SIMILARITY)
    .sort((left, right) => right.similarity - left.similarity || (left.candidate < right.candidate ? -1 : 1))
    .slice(0, max)
    .map(({ candidate }) => candidate);
}

/** Letters by themselves count as well: two letters in the wrong order leave few pieces of a short word. */
function toPieces(text: string): Set<string> {
  const pieces = new Set<string>();
  for (const word of splitQuery(text.slice(0, 200)).words) {
    const padded = `  ${word} `;
    for (let at = 0; at + 3 <= padded.length; at += 1) pieces.add(padded.slice(at, at + 3));
  }
  for (const letter of text.toLowerCase().slice(0, 200)) pieces.add(letter);
  return pieces;
}

function compare(left: Set<string>, right: Set<string>): number {
  let shared = 0;
  for (const piece of left) if (right.has(piece)) shared += 1;
  return (2 * shared) / (left.size + right.size || 1);
}
