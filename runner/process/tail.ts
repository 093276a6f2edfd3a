import type { Readable } from "node:stream";

export interface Tail {
  /** Waits for the stream to end, `maxWaitMs` at most, and returns its last bytes as text. */
  read(maxWaitMs: number): Promise<string>;
}

/** Reads `stream`, keeps its last `maxKeptBytes`, and destroys it after `maxReadBytes`. Never throws. */
export function createTail(stream: Readable, maxKeptBytes: number, maxReadBytes: number): Tail {
  let kept: Buffer = Buffer.alloc(0);
  let readBytes = 0;
  const closed = new Promise<void>((resolve) => stream.once("close", resolve));
  stream.on("error", () => {});
  stream.on("data", (chunk: Buffer) => {
    readBytes += chunk.length;
    kept = Buffer.concat([kept, chunk]).subarray(-maxKeptBytes);
    if (readBytes > maxReadBytes) stream.destroy();
  });
  return {
    async read(maxWaitMs) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, maxWaitMs);
      });
      await Promise.race([closed, late]);
      clearTimeout(timer);
      return kept.toString("latin1");
    },
  };
}
