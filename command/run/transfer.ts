/** Uploads a remote run's files and downloads its artifacts, both as streams. */
import type { ProcessRecord } from "#client/client.ts";
import type { RunOptions } from "#client/runs.ts";
import { visibleLine } from "#client/visible-text.ts";
import { checkFileName } from "#kernel/file-names.ts";
import { Failure, toFailure } from "../failure.ts";
import type { Session } from "../session.ts";
import { type FolderFile, writeArtifact } from "./folder.ts";

/** Concurrent transfers. A server accepts 8 per key. */
const MAX_UPLOADS = 4;
/** Longer texts would fill the request that submits the script. */
const MAX_INLINE_CHARACTERS = 16 * 1024;

/** Uploads each file and returns what to submit. Rejects with a Failure that names the file. */
export async function uploadFiles(
  { client, signal, url }: Session,
  files: Record<string, FolderFile | string>,
): Promise<NonNullable<RunOptions["files"]>> {
  const given: NonNullable<RunOptions["files"]> = Object.create(null);
  const left = Object.entries(files);
  async function uploadNext(): Promise<void> {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const [name, file] = next;
      if (typeof file === "string" && file.length <= MAX_INLINE_CHARACTERS) {
        given[name] = { text: file };
        continue;
      }
      try {
        const { id } = await client.upload(typeof file === "string" ? file : await file.open(), {
          name,
          signal,
        });
        given[name] = { id };
      } catch (error) {
        left.length = 0;
        throw explain(`${name} was not uploaded`, error, url);
      }
    }
  }
  await Promise.all(Array.from({ length: MAX_UPLOADS }, uploadNext));
  return given;
}

/**
 * Writes a run's artifacts into a folder and returns the Failure, if any. The server's response is not trusted: names
 * are checked, and sizes must match.
 */
export async function downloadArtifacts(
  { client, url }: Session,
  { id, artifacts }: Pick<ProcessRecord, "id" | "artifacts">,
  folder: string,
): Promise<Failure | null> {
  const written = createArtifactWriter(folder, `Process ${id}`, url);
  for (const { name, size } of artifacts) {
    await written.add(name, async () => {
      // Checked before the name becomes part of a URL.
      const wrong = checkFileName(name);
      if (wrong !== null) throw new Error(`the name ${wrong}.`);
      return withSize(await client.downloadArtifact(id, name), size);
    });
  }
  return written.end();
}

/** Writes artifacts into a folder. A failed one does not stop the others: `end` returns a Failure for the first. */
export function createArtifactWriter(folder: string, run: string, url: string) {
  const failures: { name: string; error: unknown }[] = [];
  return {
    async add(name: string, open: () => Promise<AsyncIterable<Uint8Array>>): Promise<void> {
      try {
        await writeArtifact(folder, name, await open());
      } catch (error) {
        failures.push({ name, error });
      }
    },
    end(): Failure | null {
      const [first, ...others] = failures;
      if (first === undefined) return null;
      const more = others.length === 0 ? "" : `, nor were ${others.length} others`;
      return explain(
        `${run} has ended; its artifact ${JSON.stringify(first.name)} was not written${more}`,
        first.error,
        url,
      );
    },
  };
}

/** @throws Error if the size differs from the announced one */
async function* withSize(content: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Uint8Array> {
  let seen = 0;
  for await (const bytes of content) {
    seen += bytes.length;
    if (seen > size) break;
    yield bytes;
  }
  if (seen !== size)
    throw new Error(`the server named ${size} bytes and sent ${seen > size ? "more" : seen}.`);
}

function explain(what: string, error: unknown, url: string): Failure {
  const { code, message, exitCode } = toFailure(error, url);
  return new Failure(code, visibleLine(`${what}: ${message}`), exitCode, { cause: error });
}
