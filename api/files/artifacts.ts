/** What a run leaves, as it is stored: read piece by piece, text without known secrets. */
import type { ArtifactSource } from "#api/processes/model/files.ts";
import type { Redactor } from "#api/secrets/redactor.ts";
import { isTextType } from "#runner/file-names.ts";
import { readWhole } from "#runner/host/workspace.ts";

/** What is to be stored of it: known secrets in text are replaced as in output, so it may have another size. */
export async function readArtifact(
  artifact: ArtifactSource,
  redactor: Pick<Redactor, "createByteStream">,
): Promise<AsyncIterable<Buffer>> {
  const isText = isTextType(artifact.contentType) || (await holdsText(artifact));
  return isText ? redact(readWhole(artifact), redactor) : readWhole(artifact);
}

/** Whether all of it is UTF-8 without a NUL character. */
async function holdsText(artifact: ArtifactSource): Promise<boolean> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    for await (const bytes of readWhole(artifact)) {
      if (bytes.includes(0)) return false;
      decoder.decode(bytes, { stream: true });
    }
    decoder.decode();
    return true;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}

async function* redact(
  bytes: AsyncIterable<Buffer>,
  redactor: Pick<Redactor, "createByteStream">,
): AsyncGenerator<Buffer> {
  const stream = redactor.createByteStream();
  for await (const piece of bytes) yield stream.push(piece);
  yield stream.end();
}
