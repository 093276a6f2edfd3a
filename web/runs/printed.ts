/** What a script has printed, as far as a page shows it: the end of it, in pieces of one stream each. Pure. */

interface Chunk {
  stream: "stdout" | "stderr";
  text: string;
}

export interface Printed {
  /** In the order of their coming while it runs; stdout before stderr once it is over and was not followed. */
  chunks: readonly Chunk[];
  /** Characters that are not shown any more. */
  droppedCharacters: number;
}

export const NOTHING: Printed = { chunks: [], droppedCharacters: 0 };

/** Beyond these a page becomes slow; all of it is one click away. */
const MAX_SHOWN_CHARACTERS = 200_000;
const MAX_CHUNKS = 2000;

/** With `next` at the end. What is too much is dropped from the beginning, and counted. */
export function addChunk({ chunks, droppedCharacters }: Printed, next: Chunk): Printed {
  if (next.text === "") return { chunks, droppedCharacters };
  const last = chunks.at(-1);
  const joined =
    last?.stream === next.stream
      ? [...chunks.slice(0, -1), { stream: last.stream, text: last.text + next.text }]
      : [...chunks, next];
  // From the end, as many as there is room for.
  let room = MAX_SHOWN_CHARACTERS;
  const kept: Chunk[] = [];
  for (const chunk of joined.slice(-MAX_CHUNKS).reverse()) {
    if (room === 0) break;
    const text = chunk.text.slice(-room);
    room -= text.length;
    kept.push({ ...chunk, text });
  }
  const dropped = countCharacters(joined) - countCharacters(kept);
  return { chunks: kept.reverse(), droppedCharacters: droppedCharacters + dropped };
}

function countCharacters(chunks: readonly Chunk[]): number {
  return chunks.reduce((sum, { text }) => sum + text.length, 0);
}
