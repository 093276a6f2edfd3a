/** What the form library would show descriptions as Markdown with: here they are plain text, and nothing is rendered. */
export function Markdown(): null {
  return null;
}
