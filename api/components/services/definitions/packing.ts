/** Definitions as they are stored: compressed, because they are large and hardly ever read again. */
import { promisify } from "node:util";
import { constants, zstdCompress, zstdDecompress } from "node:zlib";

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** Fast levels gain most of what there is to gain. */
const LEVEL = 3;

export function packDefinition(bytes: Buffer): Promise<Buffer> {
  return compress(bytes, { params: { [constants.ZSTD_c_compressionLevel]: LEVEL } });
}

/** The text, without a byte order mark. Rejects for what `packDefinition` did not make. */
export async function unpackDefinition(packed: Buffer, maxBytes: number): Promise<string> {
  const bytes = await decompress(packed, { maxOutputLength: maxBytes });
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
}
