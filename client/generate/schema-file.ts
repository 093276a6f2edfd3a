/**
 * Writes client/schema.ts, the types of the HTTP API, from the committed docs/openapi.json; `--check` compares instead.
 */
import { readFile, writeFile } from "node:fs/promises";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";

const DOCUMENT = new URL("../../docs/openapi.json", import.meta.url);
const FILE = new URL("../schema.ts", import.meta.url);
const HEADER =
  "// The types of the HTTP API. Generated from docs/openapi.json; written by: node client/generate/schema-file.ts\n\n";

/** openapi-typescript builds its output with the compiler's interface of TypeScript 5 and 6: it is handed that one. */
async function loadGenerator(): Promise<typeof import("openapi-typescript")> {
  const url = new URL("./typescript-api.ts", import.meta.url).href;
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      specifier === "typescript" && context.parentURL?.includes("/openapi-typescript/")
        ? { url, shortCircuit: true }
        : next(specifier, context),
  });
  try {
    return await import("openapi-typescript");
  } finally {
    hooks.deregister();
  }
}

/** The content of client/schema.ts for an OpenAPI document, given as JSON text. */
export async function printClientSchema(document: string): Promise<string> {
  const { default: generate, astToString } = await loadGenerator();
  const nodes = await generate(JSON.parse(document), {
    alphabetize: true,
    emptyObjectsUnknown: true,
    // What has a default may be left out of a request; in an answer it is there all the same.
    defaultNonNullable: false,
  });
  return HEADER + astToString(nodes);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = await printClientSchema(await readFile(DOCUMENT, "utf8"));
  if (!process.argv.includes("--check")) await writeFile(FILE, text);
  else if ((await readFile(FILE, "utf8").catch(() => "")) !== text) {
    console.error(
      "client/schema.ts does not match docs/openapi.json. Run: node client/generate/schema-file.ts",
    );
    process.exitCode = 1;
  }
}
