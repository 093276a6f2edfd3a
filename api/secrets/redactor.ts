/**
 * Replaces known secrets of 8 characters or more, in every form they may take, with `[secret]` in everything that
 * leaves the server. Costs nothing while no secret is known.
 */
import { isRawInteger, type PrintLevel, parseExactJson } from "#sdk";
import { collectValues, listForms } from "./redaction/forms.ts";
import { createMatcher, type Matcher } from "./redaction/matcher.ts";
import {
  forgetFound,
  type Held,
  holdsAny,
  MARKER,
  movePosition,
  nothingHeld,
  type Part,
  releaseCut,
  replaceAll,
  replaceFound,
  replaceInCut,
  replaceInPiece,
} from "./redaction/replace.ts";

export interface ByteStreamRedactor {
  /** Returns complete lines, or everything at once while no secret is known. */
  push(chunk: Buffer, level?: PrintLevel): Buffer;
  end(): Buffer;
  /** Ends a stream that was cut off and whose end may therefore be the first part of a secret. */
  cut(): Buffer;
  /** Level changes within the most recently returned bytes. */
  readonly levels: readonly LevelChange[];
}

interface LevelChange {
  at: number;
  level: PrintLevel | undefined;
}

export interface Redactor {
  /**
   * Sets an owner's secrets. Up to 32 earlier values stay known, because calls made with them may still be in
   * progress.
   */
  setOwner(ownerKey: string, values: Record<string, unknown>): void;
  dropOwner(ownerKey: string): void;
  text(text: string): string;
  /**
   * Replaces secrets, then shortens the text. Also replaces the first 8 characters or more of a secret at the end,
   * where foreign code may have cut the text.
   */
  cut(text: string, maxCharacters: number): string;
  jsonText(text: string): string;
  /** Replaces secrets in member names too. A value that JSON cannot express is replaced completely. */
  value<T>(json: T): T;
  createByteStream(): ByteStreamRedactor;
}

const MAX_RETIRED_VALUES = 32;
const NOTHING = Buffer.alloc(0);
const NON_ASCII = /[^\0-\x7f]/;

interface OwnerValues {
  current: Set<string>;
  retired: string[];
}

interface Matchers {
  text: Matcher;
  bytes: Matcher;
}

export function createRedactor(): Redactor {
  const owners = new Map<string, OwnerValues>();
  let matchers: Matchers | null = null;
  let isCurrent = true;

  /** Rebuilt at the first use after a change, because many owners are set one after another. */
  function known(): Matchers | null {
    if (!isCurrent) {
      matchers = build(owners);
      isCurrent = true;
    }
    return matchers;
  }

  function text(input: string): string {
    const found = known();
    return found === null ? input : replaceAll(found.text, input);
  }

  function jsonText(input: string): string {
    const found = known();
    if (found === null || !holdsAny(found.text, input)) return input;
    const lineEnd = input.endsWith("\n") ? "\n" : "";
    try {
      return JSON.stringify(redactTree(parseExactJson(input), text)) + lineEnd;
    } catch {
      return JSON.stringify(MARKER) + lineEnd;
    }
  }

  return {
    setOwner(ownerKey, values) {
      const current = collectValues(values);
      const before = owners.get(ownerKey);
      if (before && isSameSet(before.current, current)) return;
      const replaced = [...(before?.current ?? [])].filter((value) => !current.has(value));
      const retired = [...(before?.retired ?? []), ...replaced].slice(-MAX_RETIRED_VALUES);
      if (current.size === 0 && retired.length === 0) return;
      owners.set(ownerKey, { current, retired });
      isCurrent = false;
    },
    dropOwner(ownerKey) {
      if (owners.delete(ownerKey)) isCurrent = false;
    },
    text,
    cut(input, maxCharacters) {
      const found = known();
      return (found === null ? input : replaceInCut(found.text, input)).slice(0, maxCharacters);
    },
    jsonText,
    value<T>(json: T): T {
      if (known() === null) return json;
      let written: string | undefined;
      try {
        written = JSON.stringify(json);
      } catch {
        return MARKER as T;
      }
      if (written === undefined) return json;
      const redacted = jsonText(written);
      return redacted === written ? json : (parseExactJson(redacted) as T);
    },
    createByteStream: () => createByteStream(known),
  };
}

function createByteStream(known: () => Matchers | null): ByteStreamRedactor {
  let held: Held | null = null;
  let lastMatcher: Matcher | null = null;
  let lastLevel: PrintLevel | undefined;
  let changes: LevelChange[] = [];
  let levels: LevelChange[] = [];
  function pass(part: Part | null): Buffer {
    passLevels(part, part?.text.length ?? 0);
    return part === null ? NOTHING : Buffer.from(replaceFound(part), "latin1");
  }
  function passLevels(part: Part | null, length: number): void {
    if (levels.length > 0) levels = [];
    if (changes.length === 0) return;
    const later: LevelChange[] = [];
    for (const { at, level } of changes) {
      if (at >= length) later.push({ at: at - length, level });
      else levels.push({ at: part === null ? at : movePosition(part, at), level });
    }
    changes = later;
  }
  return {
    get levels() {
      return levels;
    },
    push(chunk, level) {
      if (level !== lastLevel) {
        lastLevel = level;
        changes.push({ at: held?.text.length ?? 0, level });
      }
      const matcher = known()?.bytes ?? null;
      if (matcher === null && held === null) {
        passLevels(null, chunk.length);
        return chunk;
      }
      let piece = chunk.toString("latin1");
      if (held !== null && matcher !== lastMatcher) {
        // The matcher was rebuilt, so scan the held text again.
        const unread = forgetFound(held);
        held = unread.held;
        piece = unread.text + piece;
      }
      lastMatcher = matcher;
      held ??= nothingHeld();
      if (matcher === null) {
        const passed = { ...held, text: piece };
        held = null;
        return pass(passed);
      }
      const outcome = replaceInPiece(matcher, held, piece);
      held = outcome.held;
      return pass(outcome.passed);
    },
    end() {
      const rest = held;
      held = null;
      return pass(rest);
    },
    cut() {
      const rest = held === null || lastMatcher === null ? null : releaseCut(lastMatcher, held);
      held = null;
      return pass(rest);
    },
  };
}

function build(owners: ReadonlyMap<string, OwnerValues>): Matchers | null {
  const forms = new Set<string>();
  for (const { current, retired } of owners.values()) {
    for (const value of [...current, ...retired]) {
      for (const form of listForms(value)) forms.add(form);
    }
  }
  const patterns = [...forms];
  const text = createMatcher(patterns);
  if (text === null) return null;
  const isAscii = patterns.every((pattern) => !NON_ASCII.test(pattern));
  const bytes = isAscii
    ? text
    : createMatcher(patterns.map((pattern) => Buffer.from(pattern).toString("latin1")));
  return { text, bytes: bytes ?? text };
}

/** Replaces secrets in a JSON value. Throws RangeError if the value is nested too deeply. */
function redactTree(node: unknown, text: (input: string) => string): unknown {
  if (typeof node === "string") return text(node);
  if (typeof node === "number") return text(String(node)) === String(node) ? node : MARKER;
  if (node === null || typeof node !== "object") return node;
  if (isRawInteger(node)) return text(node.rawJSON) === node.rawJSON ? node : MARKER;
  if (Array.isArray(node)) return node.map((member) => redactTree(member, text));
  // Build the object from entries, because a member may be named __proto__.
  return Object.fromEntries(
    Object.entries(node).map(([name, member]) => [text(name), redactTree(member, text)]),
  );
}

function isSameSet(left: ReadonlySet<string>, right: ReadonlySet<string>): boolean {
  return left.size === right.size && [...left].every((value) => right.has(value));
}
