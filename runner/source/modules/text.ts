/** The text of a file that a script imports, of its bytes. */
import { quote } from "./names.ts";

/** What a reader of modules throws for a file that is no UTF-8. */
export class NoTextError extends Error {
  readonly file: string;

  constructor(file: string) {
    super(
      `${file} is no UTF-8 text: read its bytes with cyrnel.files.read(${quote(file)}), or save it as UTF-8.`,
    );
    this.file = file;
  }
}

/**
 * Without a byte order mark. More than `maxBytes` is refused by the length of its text, whatever is cut at its end.
 * @throws NoTextError
 */
export function decodeModule(file: string, bytes: Uint8Array, maxBytes: number): string {
  if (bytes.length > maxBytes) return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new NoTextError(file);
  }
}
