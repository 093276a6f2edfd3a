/**
 * Finds any of many patterns in one pass: an Aho-Corasick automaton with a shift table (Wu-Manber) at its root, which
 * skips text where no pattern can begin. The cost does not grow with the number of patterns.
 */

export const MIN_PATTERN_CHARACTERS = 8;
const BLOCK_CHARACTERS = 3;
const MAX_SHIFT = MIN_PATTERN_CHARACTERS - BLOCK_CHARACTERS + 1;
const MIN_TABLE_BITS = 12;
const MAX_TABLE_BITS = 22;
const ROOT = 0;

export interface Intervals {
  readonly starts: number[];
  readonly ends: number[];
}

export function noIntervals(): Intervals {
  return { starts: [], ends: [] };
}

export interface Matcher {
  readonly longest: number;
  /** Continues from `state` (0 at the beginning of a text), adds matches to `found`, and returns the new state. */
  scan(text: string, from: number, state: number, found: Intervals): number;
  /** Returns the number of characters before this state that may begin a pattern. */
  openCharacters(state: number): number;
}

/** Returns null if there are no patterns. Throws RangeError if one is too short. */
export function createMatcher(patterns: readonly string[]): Matcher | null {
  if (patterns.length === 0) return null;
  const trie = buildTrie(patterns);
  const { longest, open } = linkFailures(trie);
  const shifts = buildShifts(patterns);
  const { next, fail } = trie;

  function scan(text: string, from: number, state: number, found: Intervals): number {
    const { length } = text;
    let node = state;
    let index = from;
    while (index < length) {
      if (node === ROOT) {
        index = shifts.skip(text, index);
        if (index >= length) break;
      }
      const code = text.charCodeAt(index);
      let target = next(node, code);
      while (target === -1 && node !== ROOT) {
        node = fail[node] as number;
        target = next(node, code);
      }
      node = target === -1 ? ROOT : target;
      index += 1;
      const matched = longest[node] as number;
      if (matched > 0) addInterval(found, index - matched, index);
    }
    return node;
  }

  return {
    longest: patterns.reduce((longest, pattern) => Math.max(longest, pattern.length), 0),
    scan,
    openCharacters: (state) => open[state] as number,
  };
}

export function addInterval({ starts, ends }: Intervals, start: number, end: number): void {
  let first = start;
  let last = end;
  while (starts.length > 0 && (ends.at(-1) as number) > first) {
    first = Math.min(first, starts.pop() as number);
    last = Math.max(last, ends.pop() as number);
  }
  starts.push(first);
  ends.push(last);
}

interface Trie {
  size: number;
  depth: Int32Array;
  isEnd: Uint8Array;
  hasNext: Uint8Array;
  parent: Int32Array;
  code: Uint16Array;
  fail: Int32Array;
  next(node: number, code: number): number;
}

function buildTrie(patterns: readonly string[]): Trie {
  let capacity = 1;
  for (const pattern of patterns) {
    if (pattern.length < MIN_PATTERN_CHARACTERS) {
      throw new RangeError(
        `A pattern needs ${MIN_PATTERN_CHARACTERS} characters; one has ${pattern.length}.`,
      );
    }
    capacity += pattern.length;
  }
  // Hash table with open addressing, at most half full: there is one edge per node.
  const slotBits = Math.max(4, Math.ceil(Math.log2(capacity * 2)));
  const slotMask = 2 ** slotBits - 1;
  const targets = new Int32Array(2 ** slotBits);
  const parent = new Int32Array(capacity);
  const code = new Uint16Array(capacity);
  const depth = new Int32Array(capacity);
  const isEnd = new Uint8Array(capacity);
  const hasNext = new Uint8Array(capacity);
  let size = 1;

  const slotOf = (node: number, character: number): number => {
    let slot = (Math.imul(node, 0x9e3779b1) ^ Math.imul(character + 1, 0x85ebca6b)) >>> (32 - slotBits);
    for (;;) {
      const target = targets[slot] as number;
      if (target === ROOT || (parent[target] === node && code[target] === character)) return slot;
      slot = (slot + 1) & slotMask;
    }
  };

  for (const pattern of patterns) {
    let node = ROOT;
    for (let index = 0; index < pattern.length; index += 1) {
      const character = pattern.charCodeAt(index);
      const slot = slotOf(node, character);
      if (targets[slot] === ROOT) {
        targets[slot] = size;
        parent[size] = node;
        code[size] = character;
        depth[size] = index + 1;
        hasNext[node] = 1;
        size += 1;
      }
      node = targets[slot] as number;
    }
    isEnd[node] = 1;
  }
  return {
    size,
    depth,
    isEnd,
    hasNext,
    parent,
    code,
    fail: new Int32Array(size),
    next(node, character) {
      // No edge leads to the root, so 0 is an empty slot.
      const target = targets[slotOf(node, character)] as number;
      return target === ROOT ? -1 : target;
    },
  };
}

function linkFailures(trie: Trie): { longest: Int32Array; open: Int32Array } {
  const { size, depth, isEnd, hasNext, parent, code, fail, next } = trie;
  const longest = new Int32Array(size);
  const open = new Int32Array(size);
  for (const node of nodesByDepth(trie)) {
    if (node === ROOT) continue;
    const above = parent[node] as number;
    if (above !== ROOT) {
      let candidate = fail[above] as number;
      let target = next(candidate, code[node] as number);
      while (target === -1 && candidate !== ROOT) {
        candidate = fail[candidate] as number;
        target = next(candidate, code[node] as number);
      }
      fail[node] = target === -1 ? ROOT : target;
    }
    const shorter = fail[node] as number;
    longest[node] = isEnd[node] ? (depth[node] as number) : (longest[shorter] as number);
    open[node] = hasNext[node] ? (depth[node] as number) : (open[shorter] as number);
  }
  return { longest, open };
}

/** Orders nodes by depth, because failure links lead to shallower nodes, which must come first. */
function nodesByDepth({ size, depth }: Trie): Int32Array {
  const counts: number[] = [];
  for (let node = 0; node < size; node += 1) {
    const level = depth[node] as number;
    counts[level] = (counts[level] ?? 0) + 1;
  }
  const offsets: number[] = [];
  let total = 0;
  for (const [level, count] of counts.entries()) {
    offsets[level] = total;
    total += count;
  }
  const ordered = new Int32Array(size);
  for (let node = 0; node < size; node += 1) {
    const level = depth[node] as number;
    const offset = offsets[level] as number;
    ordered[offset] = node;
    offsets[level] = offset + 1;
  }
  return ordered;
}

/**
 * Returns how far a window of 8 characters may advance, judged by its last three, or 0 if a pattern may begin there.
 * Blocks that share a slot share the smaller shift.
 */
function buildShifts(patterns: readonly string[]): { skip(text: string, from: number): number } {
  const blocks = patterns.length * MAX_SHIFT;
  const bits = Math.min(MAX_TABLE_BITS, Math.max(MIN_TABLE_BITS, Math.ceil(Math.log2(blocks * 8))));
  const table = new Uint8Array(2 ** bits).fill(MAX_SHIFT);
  const unused = 32 - bits;
  const slotAt = (text: string, end: number) =>
    (Math.imul(text.charCodeAt(end - 2), 0x9e3779b1) ^
      Math.imul(text.charCodeAt(end - 1), 0x85ebca6b) ^
      Math.imul(text.charCodeAt(end), 0xc2b2ae35)) >>>
    unused;
  for (const pattern of patterns) {
    for (let end = BLOCK_CHARACTERS - 1; end < MIN_PATTERN_CHARACTERS; end += 1) {
      const slot = slotAt(pattern, end);
      table[slot] = Math.min(table[slot] as number, MIN_PATTERN_CHARACTERS - 1 - end);
    }
  }
  return {
    skip(text, from) {
      const { length } = text;
      let end = from + MIN_PATTERN_CHARACTERS - 1;
      while (end < length) {
        const shift = table[slotAt(text, end)] as number;
        if (shift === 0) break;
        end += shift;
      }
      return end - MIN_PATTERN_CHARACTERS + 1;
    },
  };
}
