/** Thread entry: a document in, the parts of its definition as JSON out, all as UTF-8. Keeps nothing between jobs. */
import { parentPort } from "node:worker_threads";
import { DocumentError } from "../failures.ts";
import { generateDefinition } from "./definition.ts";
import { readDocument } from "./read-document.ts";

export type Bytes = Uint8Array<ArrayBuffer>;

export type GenerationAnswer =
  /** The definition without its tools, and each tool: never the whole of it as one text. */
  { service: Bytes; tools: Bytes[] } | { refused: string };

export interface GenerationJob {
  document: Bytes;
  filter: unknown;
}

async function answer({ document, filter }: GenerationJob): Promise<GenerationAnswer> {
  try {
    const { tools, ...service } = await generateDefinition(readDocument(decode(document)), filter);
    return { service: encode(service), tools: tools.map(encode) };
  } catch (error) {
    if (error instanceof DocumentError) return { refused: error.message };
    if (error instanceof RangeError)
      return { refused: "The document nests or refers too deeply to be read." };
    return { refused: `The document does not follow OpenAPI: ${(error as Error).message}` };
  }
}

/** Frees the bytes: with the text they would take much of the thread's memory. */
function decode(document: Bytes): string {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(document);
  document.buffer.transfer(0);
  return text;
}

function encode(part: object): Bytes {
  return new TextEncoder().encode(JSON.stringify(part));
}

parentPort?.on("message", (job: GenerationJob) => {
  void answer(job).then((answered) => {
    const parts = "refused" in answered ? [] : [answered.service, ...answered.tools];
    parentPort?.postMessage(
      answered,
      parts.map(({ buffer }) => buffer),
    );
  });
});
