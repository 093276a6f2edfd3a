/**
 * Real OpenAPI documents through the adapter: `npm run bench -- openapi [--import-only] [folder or file…]`.
 * Prints per document operations / imported / called / accepted and every exception; without arguments those of the
 * contract test, every operation of each.
 */
import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import {
  documentsIn,
  exampleDocuments,
  largeDocuments,
  type RealDocument,
} from "#tests/contract/adapters/openapi/documents.ts";
import { explainException } from "#tests/contract/adapters/openapi/exceptions.ts";
import { exercise, startAdapter } from "#tests/contract/adapters/openapi/exercise.ts";
import { compile } from "#tests/contract/adapters/openapi/samples.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { "import-only": { type: "boolean", default: false } },
});

const documents: RealDocument[] =
  positionals.length === 0
    ? [...exampleDocuments(), ...largeDocuments()]
    : positionals.flatMap((place) =>
        statSync(place).isDirectory()
          ? documentsIn(place)
          : [{ name: path.basename(place), text: () => readFileSync(place, "utf8") }],
      );

await using adapter = await startAdapter();
/** Of how many tools the schemas of one are compiled, where documents are only imported. */
const COMPILED_OF = 10;
const totals = { documents: 0, refused: 0, operations: 0, imported: 0, called: 0, accepted: 0 };
for (const document of documents) {
  totals.documents += 1;
  try {
    await (values["import-only"] ? importDocument(document) : exerciseDocument(document));
  } catch (error) {
    totals.refused += 1;
    console.log(`${document.name}: refused: ${(error as Error).message}`);
  }
}
console.log(totals);

async function exerciseDocument(document: RealDocument): Promise<void> {
  const text = document.text();
  const result = await exercise(text, { adapter });
  totals.operations += result.operations;
  totals.imported += result.imported;
  totals.called += result.called;
  totals.accepted += result.accepted;
  console.log(
    `${document.name}: ${result.operations} operations / ${result.imported} imported / ${result.called} called / ${result.accepted} accepted; ` +
      `${result.schemas} schema pairs compile; ${Math.round(result.importMs)} ms for ${kib(text.length)} KiB, definition ${kib(result.definitionBytes)} KiB`,
  );
  for (const exception of result.exceptions) {
    console.log(`    ${exception}\n        ${explainException(exception) ?? "UNEXPLAINED"}`);
  }
}

/** For collections of documents: imports, compiles the schemas of some tools, calls nothing. */
async function importDocument(document: RealDocument): Promise<void> {
  const startedAt = performance.now();
  const definition = await adapter.generateDefinition(document.text());
  const importMs = performance.now() - startedAt;
  totals.imported += definition.tools.length;
  for (const tool of definition.tools.filter((_tool, index) => index % COMPILED_OF === 0)) {
    for (const schema of [tool.inputSchema, tool.outputSchema]) {
      try {
        compile(schema);
        totals.accepted += 1;
      } catch (error) {
        console.log(`${document.name}: ${tool.id}: ${(error as Error).message.slice(0, 300)}`);
      }
    }
  }
  if (importMs > 2000) console.log(`${document.name}: ${Math.round(importMs)} ms`);
}

function kib(bytes: number): number {
  return Math.round(bytes / 1024);
}
