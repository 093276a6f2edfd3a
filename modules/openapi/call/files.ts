/** Files that a script sends: base64 bytes, or the name of a workspace file, which is read while it is sent. */

import { ownText } from "#kernel/foreign-json.ts";
import type { CallFiles, FileContent } from "#sdk";
import { CallError } from "../failures.ts";

/** Bytes that are read again for each retry or redirect. */
export type StreamedBody = Pick<FileContent, "size" | "stream">;

export interface GivenFile {
  content: Uint8Array<ArrayBuffer> | StreamedBody;
  contentType?: string | undefined;
  ownType?: string | undefined;
  filename?: string | undefined;
}

export interface WrittenBody {
  content: string | GivenFile["content"];
  contentType: string;
}

/**
 * Returns undefined if the value is not a file. @param files absent for calls outside a script @throws CallError, or
 * the host's `open` error for a missing file
 */
export async function readGivenFile(
  value: unknown,
  files: CallFiles | undefined,
): Promise<GivenFile | undefined> {
  const said = { contentType: safeType(ownText(value, "contentType")), filename: ownText(value, "filename") };
  const base64 = ownText(value, "base64");
  if (base64 !== undefined) return { ...said, content: readBase64(base64) };
  const name = ownText(value, "file");
  if (name === undefined) return undefined;
  if (files === undefined) {
    throw new CallError(
      "invalid_parameters",
      "Only a script can send a file of its workspace. Send the bytes as {base64}.",
    );
  }
  const content = await files.open(name);
  return {
    content,
    contentType: said.contentType,
    ownType: safeType(content.contentType),
    filename: said.filename ?? name.slice(name.lastIndexOf("/") + 1),
  };
}

/** Returns the media type if it can be used as a header value unchanged. */
export function safeType(contentType: string | undefined): string | undefined {
  if (contentType === undefined || contentType.length > 200) return undefined;
  return /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(;[\x20-\x7e]*)?$/.test(contentType) ? contentType : undefined;
}

function readBase64(text: string): Uint8Array<ArrayBuffer> {
  if (!/^[A-Za-z0-9+/_\s-]*={0,2}\s*$/.test(text)) {
    throw new CallError("invalid_parameters", "A file's base64 contains an invalid character.");
  }
  return new Uint8Array(Buffer.from(text, "base64"));
}
