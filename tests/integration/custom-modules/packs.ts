/** Packages as people and attackers make them: real tar, real Zstandard. */
import { zstdCompressSync } from "node:zlib";
import { type Header, pack } from "tar-stream";

/** One entry as it goes into the archive; `data` of a file. */
export type PackEntry = Partial<Header> & { name: string; data?: string | Buffer };

export async function makeTar(entries: readonly PackEntry[]): Promise<Buffer> {
  const archive = pack();
  const chunks: Buffer[] = [];
  const reading = (async () => {
    for await (const chunk of archive) chunks.push(chunk as Buffer);
  })();
  for (const { data, ...header } of entries) {
    const isFile = header.type === undefined || header.type === "file";
    await new Promise<void>((resolve, reject) => {
      const done = (error: unknown) => (error ? reject(error) : resolve());
      if (isFile) archive.entry(header, data ?? "", done);
      else archive.entry(header, done);
    });
  }
  archive.finalize();
  await reading;
  return Buffer.concat(chunks);
}

export async function makePackage(entries: readonly PackEntry[]): Promise<Buffer> {
  return zstdCompressSync(await makeTar(entries));
}

/** The files of a module: its manifest and an entry file. */
export function moduleEntries(
  manifest: Record<string, unknown> & { id: string },
  code: string,
  more: readonly PackEntry[] = [],
): PackEntry[] {
  const whole = {
    type: "adapter",
    name: `The ${manifest.id}`,
    description: "",
    main: "main.mjs",
    ...manifest,
  };
  return [
    { name: "module.json", data: JSON.stringify(whole) },
    { name: String(whole.main), data: code },
    ...more,
  ];
}
