/** Replaces the form library's Markdown renderer: descriptions are plain text here. */
export function Markdown(): null {
  return null;
}
