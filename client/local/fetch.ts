/** Converts what a local runtime's `fetch` function returns to the response that a script's `fetch` expects. */
import { beginBody, MAX_INLINE_BYTES } from "#kernel/incoming-body.ts";
import type { Workspace } from "#runner/workspace/workspace.ts";
import type { SavedAnswer, ToolRequest } from "#sdk";

export const FETCH_PATH = "fetch";
/** Anything but a Response must already have the form `{status, statusText, headers, url, redirected, body}`. */
export async function answerFetch(
  workspace: Workspace,
  { saveAs = "", openStream, signal }: Pick<ToolRequest, "saveAs" | "openStream" | "signal">,
  made: unknown,
): Promise<SavedAnswer> {
  if (!(made instanceof Response)) return { answer: made, size: null };
  const { status, statusText, headers, url, redirected } = made;
  const answer = { status, statusText, headers: [...headers], url, redirected };
  if (made.body === null) return { answer: { ...answer, body: null }, size: null };
  const begun = await beginBody(made, openStream);
  const { body, stream } = begun;
  if (stream !== null) {
    signal?.addEventListener("abort", body.close, { once: true });
    const streamed = { answer: { ...answer, body: { stream: true } }, size: null };
    await stream(streamed, body.stream());
    return streamed;
  }
  if (begun.isWhole || (await body.take(MAX_INLINE_BYTES, null))) {
    return { answer: { ...answer, body: toInline(body.bytes()) }, size: null };
  }
  const { size } = await workspace.save(saveAs, body.stream());
  return { answer: { ...answer, body: { file: saveAs, size } }, size };
}

function toInline(bytes: Buffer): { text: string } | { base64: string } {
  const text = bytes.toString();
  return Buffer.from(text).equals(bytes) ? { text } : { base64: bytes.toString("base64") };
}
