/** Replaces the Markdown renderer of the form library: descriptions are plain text here. */
export function Markdown(): null {
  return null;
}
