/** `atob` and `btoa` (HTML standard, "Base64 utility methods") on top of the engine's Base64. */
import { DOMException } from "./dom-exception.ts";

interface Base64Bytes extends Uint8Array {
  toBase64(): string;
}
interface Base64Constructor {
  fromBase64(text: string): Uint8Array;
}

const CHUNK_UNITS = 8192;

/** Decodes base64 to a string of bytes, one per character. @throws DOMException InvalidCharacterError */
export function atob(data: unknown): string {
  let bytes: Uint8Array;
  try {
    bytes = (Uint8Array as unknown as Base64Constructor).fromBase64(String(data));
  } catch {
    throw new DOMException("The string to be decoded is not correctly encoded.", "InvalidCharacterError");
  }
  let text = "";
  for (let start = 0; start < bytes.length; start += CHUNK_UNITS) {
    text += String.fromCharCode(...bytes.subarray(start, start + CHUNK_UNITS));
  }
  return text;
}

/** Encodes a string of bytes as base64. @throws DOMException InvalidCharacterError for a character above U+00FF */
export function btoa(data: unknown): string {
  const text = String(data);
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit > 0xff) {
      throw new DOMException(
        "btoa takes characters up to U+00FF; encode the text first: btoa(String.fromCharCode(...new TextEncoder().encode(text))).",
        "InvalidCharacterError",
      );
    }
    bytes[index] = unit;
  }
  return (bytes as Base64Bytes).toBase64();
}
