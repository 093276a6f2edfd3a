import { addInterval, type Intervals, type Matcher, MIN_PATTERN_CHARACTERS, noIntervals } from "./matcher.ts";

export const MARKER = "[secret]";

export function holdsAny(matcher: Matcher, text: string): boolean {
  const found = noIntervals();
  matcher.scan(text, 0, 0, found);
  return found.starts.length > 0;
}

export function replaceAll(matcher: Matcher, text: string): string {
  const found = noIntervals();
  matcher.scan(text, 0, 0, found);
  return found.starts.length === 0 ? text : replaceFound({ text, found, isContinued: false });
}

const CUT_MARK = /(?:\.{3}|…)\W{0,3}$/;

/** Replaces patterns, including the beginning of one at the end of a text that was cut. */
export function replaceInCut(matcher: Matcher, text: string): string {
  const [mark = ""] = CUT_MARK.exec(text) ?? [];
  const whole = text.slice(0, text.length - mark.length);
  const found = noIntervals();
  const open = matcher.openCharacters(matcher.scan(whole, 0, 0, found));
  if (open >= MIN_PATTERN_CHARACTERS) addInterval(found, whole.length - open, whole.length);
  // The text before the mark may contain a pattern that itself ends like a cut text.
  return replaceAll(matcher, replaceFound({ text: whole, found, isContinued: false }) + mark);
}

const MIN_LINE_CHARACTERS = 8 * 1024;

export interface Part {
  text: string;
  found: Intervals;
  /** True if the first secret began in an earlier part, which already has its marker. */
  isContinued: boolean;
}

export interface Held extends Part {
  state: number;
}

export function nothingHeld(): Held {
  return { text: "", found: noIntervals(), isContinued: false, state: 0 };
}

/**
 * Passes on complete lines and, of a very long line, the part that cannot belong to a secret that has begun. Holding
 * back only likely beginnings would reveal, character by character, how a secret begins.
 */
export function replaceInPiece(matcher: Matcher, held: Held, piece: string): { passed: Part; held: Held } {
  const text = held.text + piece;
  const { found } = held;
  const state = matcher.scan(text, held.text.length, held.state, found);
  const end = Math.min(endOfLines(text, matcher.longest), text.length - matcher.openCharacters(state));
  const passable = noIntervals();
  const rest = noIntervals();
  let isContinued = false;
  for (const [index, from] of found.starts.entries()) {
    const to = found.ends[index] as number;
    if (from < end || (from === 0 && held.isContinued)) {
      passable.starts.push(from);
      passable.ends.push(Math.min(to, end));
    }
    if (to <= end) continue;
    rest.starts.push(Math.max(0, from - end));
    rest.ends.push(to - end);
    isContinued ||= from < end || (from === 0 && held.isContinued);
  }
  return {
    passed: { text: text.slice(0, end), found: passable, isContinued: held.isContinued },
    held: { text: text.slice(end), found: rest, isContinued, state },
  };
}

function endOfLines(text: string, longest: number): number {
  const end = Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1;
  const maxLineCharacters = Math.max(MIN_LINE_CHARACTERS, 2 * longest);
  return text.length - end > maxLineCharacters ? text.length - longest : end;
}

/**
 * Drops the last characters of a stream that was cut off, because they may begin a secret. Always drops the same
 * number, because the number would otherwise reveal the secret.
 */
export function releaseCut(matcher: Matcher, { text, found, isContinued }: Held): Part {
  const end = Math.max(0, text.length - matcher.longest + 1);
  const kept = noIntervals();
  for (const [index, from] of found.starts.entries()) {
    if (from >= end && !(isContinued && index === 0)) break;
    kept.starts.push(from);
    kept.ends.push(Math.min(found.ends[index] as number, end));
  }
  return { text: text.slice(0, end), found: kept, isContinued };
}

/** Prepares the held text for another matcher: keeps the marker and forgets other matches. */
export function forgetFound({ text, found, isContinued }: Held): { held: Held; text: string } {
  const held = nothingHeld();
  if (isContinued) {
    held.found.starts.push(0);
    held.found.ends.push(found.ends[0] as number);
    held.isContinued = true;
  }
  return { held, text };
}

/** Returns a position in the text after replacing. Positions inside a secret move to the end of its marker. */
export function movePosition({ found: { starts, ends }, isContinued }: Part, position: number): number {
  let moved = position;
  for (const [index, start] of starts.entries()) {
    if (start >= position) break;
    const end = Math.min(ends[index] as number, position);
    moved += (isContinued && index === 0 ? 0 : MARKER.length) - (end - start);
  }
  return moved;
}

export function replaceFound({ text, found: { starts, ends }, isContinued }: Part): string {
  const parts: string[] = [];
  let written = 0;
  for (const [index, start] of starts.entries()) {
    if (!(isContinued && index === 0)) parts.push(text.slice(written, start), MARKER);
    written = ends[index] as number;
  }
  parts.push(text.slice(written));
  return parts.join("");
}
