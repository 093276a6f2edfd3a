import { quote } from "./names.ts";

export class NoTextError extends Error {
  readonly file: string;

  constructor(file: string) {
    super(
      `${file} is not UTF-8 text: read its bytes with cyrnel.files.read(${quote(file)}), or save it as UTF-8.`,
    );
    this.file = file;
  }
}

/**
 * Drops a byte order mark. A text over `maxBytes` is later rejected by its length, so a cut character at its end does
 * not matter. @throws NoTextError
 */
export function decodeModule(file: string, bytes: Uint8Array, maxBytes: number): string {
  if (bytes.length > maxBytes) return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new NoTextError(file);
  }
}
