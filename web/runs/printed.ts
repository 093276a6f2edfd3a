/** Keeps the end of a script's output as chunks of one stream each, up to what a page can show. Pure. */
import { visibleText } from "#client/visible-text.ts";

interface Chunk {
  stream: "stdout" | "stderr";
  text: string;
}

export interface Printed {
  /** In order of arrival while the run is followed; stdout before stderr for a finished run that was not followed. */
  chunks: readonly Chunk[];
  /** Number of characters dropped from the beginning. */
  droppedCharacters: number;
}

export const NOTHING: Printed = { chunks: [], droppedCharacters: 0 };

/** Showing more makes a page slow; the complete output is one click away. */
const MAX_SHOWN_CHARACTERS = 200_000;
const MAX_CHUNKS = 2000;

/** Appends `next`. Drops and counts excess characters at the beginning. */
export function addChunk({ chunks, droppedCharacters }: Printed, next: Chunk): Printed {
  if (next.text === "") return { chunks, droppedCharacters };
  const last = chunks.at(-1);
  const joined =
    last?.stream === next.stream
      ? [...chunks.slice(0, -1), { stream: last.stream, text: last.text + next.text }]
      : [...chunks, next];
  // Keeps as many characters from the end as allowed.
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

/** No terminal supports longer sequences: they are shown as text. */
const MAX_SEQUENCE = 2000;
const SEQUENCES = new RegExp(
  [
    // Colours and cursor movements: ESC [ … letter.
    String.raw`\u001b\[[0-?]{0,64}[ -/]{0,8}[@-~]`,
    // Titles and links: ESC ] … up to a bell or ESC \.
    String.raw`\u001b\][^\u0007\u001b\n]{0,${MAX_SEQUENCE}}(?:\u0007|\u001b\\)`,
    String.raw`\u001b[PX^_][^\u001b\n]{0,${MAX_SEQUENCE}}\u001b\\`,
    String.raw`\u001b[ -/]{0,8}[0-Z\\-~]`,
  ].join("|"),
  "g",
);
const LINE_ENDS = /\r+\n?/g;

/** Removes terminal sequences such as colours, links and cursor movements. */
export function toPlainText(text: string): string {
  return visibleText(text.replace(SEQUENCES, "").replace(LINE_ENDS, "\n"));
}
