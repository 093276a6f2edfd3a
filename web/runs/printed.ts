/** Keeps the end of what a script printed, in pieces of one stream each, as far as a page shows it. Pure. */
import { visibleText } from "#client/visible-text.ts";

interface Chunk {
  stream: "stdout" | "stderr";
  text: string;
}

export interface Printed {
  /** In the order in which they came while it runs; stdout before stderr once it is over and was not followed. */
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

/** A longer sequence is none that terminals know: it is shown as text. */
const MAX_SEQUENCE = 2000;
const SEQUENCES = new RegExp(
  [
    // Colours and movements: ESC [ … letter.
    String.raw`\u001b\[[0-?]{0,64}[ -/]{0,8}[@-~]`,
    // Titles and links: ESC ] … to a bell or ESC \.
    String.raw`\u001b\][^\u0007\u001b\n]{0,${MAX_SEQUENCE}}(?:\u0007|\u001b\\)`,
    String.raw`\u001b[PX^_][^\u001b\n]{0,${MAX_SEQUENCE}}\u001b\\`,
    String.raw`\u001b[ -/]{0,8}[0-Z\\-~]`,
  ].join("|"),
  "g",
);
const LINE_ENDS = /\r+\n?/g;

/** Turns text for a terminal into text that cannot act: no colours, no links, no cursor. */
export function toPlainText(text: string): string {
  return visibleText(text.replace(SEQUENCES, "").replace(LINE_ENDS, "\n"));
}
