/**
 * Thread entry: takes a document, and returns its definition in parts or the bundled document, as JSON in UTF-8.
 * Keeps nothing between jobs.
 */
import { parentPort } from "node:worker_threads";
import { DocumentError } from "../failures.ts";
import { bundleDocument, type FoundFile, type Scan, scanFile } from "./bundle.ts";
import { generateDefinition } from "./definition.ts";
import { readDocument } from "./read-document.ts";

export type Bytes = Uint8Array<ArrayBuffer>;

export type GenerationAnswer =
  /** The service and each tool are separate texts: one text for everything would take too much memory. */
  { service: Bytes; tools: Bytes[] } | Scan | { bundled: Bytes } | { refused: string };

export type GenerationJob =
  | { kind: "generate"; document: Bytes; filter: unknown }
  | { kind: "scan"; document: Bytes; url: string }
  | { kind: "bundle"; document: Bytes; url: string; found: FoundFile[] };

async function answer(job: GenerationJob): Promise<GenerationAnswer> {
  try {
    const text = decode(job.document);
    if (job.kind === "scan") return scanFile(job.url, text);
    if (job.kind === "bundle") return { bundled: encode(bundleDocument(job.url, text, job.found)) };
    const { tools, ...service } = await generateDefinition(readDocument(text), job.filter);
    return { service: encode(service), tools: tools.map(encode) };
  } catch (error) {
    if (error instanceof DocumentError) return { refused: error.message };
    if (error instanceof RangeError)
      return { refused: "The document is nested too deeply, or its references are." };
    return { refused: `The document does not follow OpenAPI: ${(error as Error).message}` };
  }
}

/** Frees the bytes after decoding: bytes and text together would take much of the thread's memory. */
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
    const parts =
      "tools" in answered
        ? [answered.service, ...answered.tools]
        : "bundled" in answered
          ? [answered.bundled]
          : [];
    parentPort?.postMessage(
      answered,
      parts.map(({ buffer }) => buffer),
    );
  });
});
