/** Sizes of text in UTF-8 bytes, as they will be on the wire, and cuts that keep surrogate pairs whole. */
import { charCodeAt, slice } from "./primordials.ts";

/** Bytes of `text` in UTF-8; a lone surrogate counts as the three bytes of U+FFFD. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = charCodeAt(text, index);
    if (unit < 0x80) continue;
    if (unit < 0x800) bytes += 1;
    else if (isHighSurrogate(unit) && isLowSurrogate(charCodeAt(text, index + 1))) {
      bytes += 2;
      index++;
    } else bytes += 2;
  }
  return bytes;
}

/** The longest start of `text` of at most `maxUnits` UTF-16 units that does not split a character. */
export function cutAt(text: string, maxUnits: number): string {
  if (text.length <= maxUnits) return text;
  const splits =
    isHighSurrogate(charCodeAt(text, maxUnits - 1)) && isLowSurrogate(charCodeAt(text, maxUnits));
  return slice(text, 0, splits && maxUnits > 1 ? maxUnits - 1 : maxUnits);
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
