/** Patterns as people write them: one a line, or with commas between. */
export function readPatterns(text: string): string[] {
  return text
    .split(/[\n,]/)
    .map((pattern) => pattern.trim())
    .filter((pattern) => pattern !== "");
}
