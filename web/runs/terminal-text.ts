/** What a program prints for a terminal, as plain text that cannot act: no colours, no links, no cursor. */
import { escapeStrange } from "../parts/format.ts";

/** Longer than that, it is no sequence of a terminal but a text that hides behind the beginning of one. */
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

export function toPlainText(text: string): string {
  return escapeStrange(text.replace(SEQUENCES, "").replace(LINE_ENDS, "\n"));
}
