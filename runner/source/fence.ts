/**
 * Finds the script in text that an agent wrote: the only fenced code block among prose. Every line keeps its number.
 */

const SCRIPT_LANGUAGES = new Set([
  "ts",
  "typescript",
  "js",
  "javascript",
  "mts",
  "mjs",
  "cts",
  "cjs",
  "tsx",
  "jsx",
]);
const MARKER = /^ {0,3}(`{3,}|~{3,})/;

interface Fence {
  language: string;
  line: number;
  lines: string[];
}

/** `firstLine` is the 0-based line where `body` starts. */
export type FenceResult =
  | { kind: "none" }
  | { kind: "block"; body: string; firstLine: number }
  | { kind: "refused"; message: string; line: number };

export function startsWithFence(text: string): boolean {
  const first = /\S.*/.exec(text);
  return first !== null && readOpening(first[0]) !== null;
}

function readOpening(line: string): { marker: string; language: string } | null {
  const found = MARKER.exec(line);
  if (found === null) return null;
  const info = line.slice(found[0].length);
  if (info.includes("`")) return null;
  return { marker: found[1] as string, language: /^[ \t]*([^\s{]*)/.exec(info)?.[1] ?? "" };
}

/** Rejects several script blocks, because it is unknown which one was meant. */
export function extractFence(text: string): FenceResult {
  const fences = listFences(text.split("\n"));
  const scripts = fences.filter(({ language }) => SCRIPT_LANGUAGES.has(language));
  const candidates = scripts.length > 0 ? scripts : fences.filter(({ language }) => language === "");
  const [block, second] = candidates;
  if (second !== undefined) {
    const message = `Found ${candidates.length} fenced code blocks; submit one, or join them into one script.`;
    return { kind: "refused", message, line: second.line };
  }
  if (block !== undefined) return { kind: "block", body: block.lines.join("\n"), firstLine: block.line + 1 };
  const [other] = fences;
  if (other === undefined) return { kind: "none" };
  const message = `Expected a fenced code block with TypeScript; found one with "${other.language.slice(0, 40)}".`;
  return { kind: "refused", message, line: other.line };
}

function listFences(lines: string[]): Fence[] {
  const fences: Fence[] = [];
  let open: (Fence & { marker: string }) | undefined;
  for (const [line, raw] of lines.entries()) {
    const text = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
    if (open === undefined) {
      const found = readOpening(text);
      if (found === null) continue;
      open = { marker: found.marker, language: found.language.toLowerCase(), line, lines: [] };
      fences.push(open);
    } else if (isClosing(text, open.marker)) open = undefined;
    else open.lines.push(raw);
  }
  return fences;
}

function isClosing(text: string, marker: string): boolean {
  const trimmed = text.trim();
  return trimmed.length >= marker.length && trimmed === (marker[0] ?? "`").repeat(trimmed.length);
}
