/** Thread: a document in, its definition as JSON text out. Says nothing else and keeps nothing. */
import { parentPort } from "node:worker_threads";
import { generateDefinition } from "./definition.ts";
import { DocumentError } from "./document-error.ts";

export type GenerationAnswer = { definition: string } | { refused: string };

async function answer(text: string): Promise<GenerationAnswer> {
  try {
    return { definition: JSON.stringify(await generateDefinition(text)) };
  } catch (error) {
    if (error instanceof DocumentError) return { refused: error.message };
    if (error instanceof RangeError)
      return { refused: "The document nests or refers too deeply to be read." };
    return { refused: `The document does not follow OpenAPI: ${(error as Error).message}` };
  }
}

parentPort?.on("message", (text: string) => {
  void answer(text).then((answered) => parentPort?.postMessage(answered));
});
