/**
 * Thread entry: schemas to TypeScript declarations. A thread of its own, because the library is slow to load and a
 * schema made to be slow must not stop the server; the parent ends the thread when its time is up.
 */
import { stripTypeScriptTypes } from "node:module";
import { parentPort } from "node:worker_threads";
import { compile } from "json-schema-to-typescript";
import { indentDeclarations } from "./indent-declarations.ts";
import type { PlainSchema } from "./plain-schema.ts";

export interface SignatureJob {
  /** Root name -> schema; each becomes declarations with that root. */
  roots: Record<string, PlainSchema>;
}
export type SignatureAnswer = { text: string } | { failed: string };

parentPort?.on("message", (job: SignatureJob) => {
  void writeDeclarations(job).then((answer) => parentPort?.postMessage(answer));
});

async function writeDeclarations(job: SignatureJob): Promise<SignatureAnswer> {
  try {
    const texts: string[] = [];
    for (const [name, schema] of Object.entries(job.roots))
      texts.push(await compile(schema as object, name, OPTIONS));
    const text = indentDeclarations(texts.join("\n").replaceAll(/^export /gm, ""));
    stripTypeScriptTypes(text);
    return { text };
  } catch (error) {
    return { failed: error instanceof Error ? error.message : String(error) };
  }
}

const OPTIONS = {
  additionalProperties: false,
  bannerComment: "",
  cwd: "/",
  declareExternallyReferenced: true,
  format: false,
  ignoreMinAndMaxItems: true,
  // Schemas arrive without foreign references; resolving them stays off as well.
  $refOptions: { resolve: { external: false, file: false, http: false } },
} as const;
