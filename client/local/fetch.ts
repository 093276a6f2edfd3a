/** What the function `fetch` of a local runtime answers, as the `fetch` of a script takes it: a large body goes through a file. */
import type { Workspace } from "#runner/workspace/workspace.ts";
import type { SavedAnswer } from "#sdk";

/** The path of that function among the tools. */
export const FETCH_PATH = "fetch";
/** A larger body is a file. */
const MAX_INLINE_BYTES = 1024 * 1024;

/** A Response is read; what is none must be an answer already: `{status, statusText, headers, url, redirected, body}`. */
export async function answerFetch(workspace: Workspace, saveAs: string, made: unknown): Promise<SavedAnswer> {
  if (!(made instanceof Response)) return { answer: made, size: null };
  const { status, statusText, headers, url, redirected } = made;
  const answer = { status, statusText, headers: [...headers], url, redirected };
  if (made.body === null) return { answer: { ...answer, body: null }, size: null };
  const reader = made.body.getReader();
  const begun: Uint8Array[] = [];
  let length = 0;
  while (length <= MAX_INLINE_BYTES) {
    const { done, value } = await reader.read();
    if (done) return { answer: { ...answer, body: toInline(Buffer.concat(begun)) }, size: null };
    begun.push(value);
    length += value.length;
  }
  const pieces = (async function* () {
    yield* begun;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  })();
  const { size } = await workspace.save(saveAs, pieces);
  return { answer: { ...answer, body: { file: saveAs, size } }, size };
}

function toInline(bytes: Buffer): { text: string } | { base64: string } {
  const text = bytes.toString();
  return Buffer.from(text).equals(bytes) ? { text } : { base64: bytes.toString("base64") };
}
