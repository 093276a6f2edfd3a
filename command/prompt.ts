/** Asks a person at a terminal for something that must not be seen. */
import { createInterface } from "node:readline/promises";
import { type Readable, Writable } from "node:stream";

/** Rejects with the signal's reason, also at Ctrl-C. */
export async function askHidden(question: string, stdin: Readable, signal: AbortSignal): Promise<string> {
  process.stderr.write(question);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: stdin, output: nowhere, terminal: true });
  const interrupted = new AbortController();
  reader.on("SIGINT", () => interrupted.abort(new Error("Stopped by Ctrl-C.")));
  try {
    return await reader.question("", { signal: AbortSignal.any([signal, interrupted.signal]) });
  } finally {
    reader.close();
    process.stderr.write("\n");
  }
}
