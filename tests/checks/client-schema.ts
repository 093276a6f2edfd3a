/**
 * Writes client/schema.ts, the types of the HTTP API, from the committed docs/openapi.json; `--check` compares instead.
 */
import { readFile, writeFile } from "node:fs/promises";
import generate, { astToString } from "openapi-typescript";

const DOCUMENT = new URL("../../docs/openapi.json", import.meta.url);
const FILE = new URL("../../client/schema.ts", import.meta.url);
const HEADER =
  "// The types of the HTTP API. Generated from docs/openapi.json; written by: npm run check -- --write\n\n";

const nodes = await generate(JSON.parse(await readFile(DOCUMENT, "utf8")), {
  alphabetize: true,
  emptyObjectsUnknown: true,
  // A field with a default may be left out of a request, but an answer always has it.
  defaultNonNullable: false,
});
const NO_METHOD = /^ {8}(?:get|put|post|delete|options|head|patch|trace)\?: never;\n/gm;
const text = HEADER + astToString(nodes).replace(NO_METHOD, "");
if (!process.argv.includes("--check")) await writeFile(FILE, text);
else if ((await readFile(FILE, "utf8").catch(() => "")) !== text) {
  console.error("client/schema.ts does not match docs/openapi.json. Run: npm run check -- --write");
  process.exitCode = 1;
}
