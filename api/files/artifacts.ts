import { isUtf8 } from "node:buffer";
import type { ArtifactSource } from "#api/processes/model/files.ts";
import type { Redactor } from "#api/secrets/redactor.ts";
import { isTextType } from "#kernel/file-names.ts";
import { endOfText } from "#runner/utf8.ts";
import { readWhole } from "#runner/workspace/workspace.ts";

/** Returns the content to store. Replacing secrets in text may change its size. */
export async function readArtifact(
  artifact: ArtifactSource,
  redactor: Pick<Redactor, "createByteStream">,
): Promise<AsyncIterable<Buffer>> {
  const isText = isTextType(artifact.contentType) || (await holdsText(artifact));
  return isText ? redact(readWhole(artifact), redactor) : readWhole(artifact);
}

async function holdsText(artifact: ArtifactSource): Promise<boolean> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const bytes of readWhole(artifact)) {
    const piece = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    const end = endOfText(piece);
    if (piece.includes(0) || !isUtf8(piece.subarray(0, end))) return false;
    rest = piece.subarray(end);
  }
  return rest.length === 0;
}

async function* redact(
  bytes: AsyncIterable<Buffer>,
  redactor: Pick<Redactor, "createByteStream">,
): AsyncGenerator<Buffer> {
  const stream = redactor.createByteStream();
  for await (const piece of bytes) yield stream.push(piece);
  yield stream.end();
}
