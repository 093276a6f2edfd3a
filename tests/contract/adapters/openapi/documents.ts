/** Documents that nobody here wrote: those of development packages, and the compressed ones of documents/ (see its README). */
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { brotliDecompressSync } from "node:zlib";

export interface RealDocument {
  name: string;
  text(): string;
}

const resolve = createRequire(import.meta.url).resolve;
const VENDORED = path.join(import.meta.dirname, "documents");

/** Every OpenAPI document of @readme/oas-examples. */
export function exampleDocuments(): RealDocument[] {
  const root = path.dirname(resolve("@readme/oas-examples/package.json"));
  return documentsIn(root).filter(({ name }) => /^[23]\.\d\//.test(name));
}

/** Every document below a folder, named by its path in it. */
export function documentsIn(folder: string): RealDocument[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(json|ya?ml)$/.test(entry.name) && entry.name !== "package.json")
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => !path.relative(folder, file).startsWith("node_modules"))
    .sort()
    .map((file) => ({ name: path.relative(folder, file), text: () => readFileSync(file, "utf8") }));
}

/** Large descriptions of services that are in use. */
export function largeDocuments(): RealDocument[] {
  const figma = resolve("@figma/rest-api-spec/openapi/openapi.yaml");
  return [
    ...readdirSync(VENDORED)
      .filter((file) => file.endsWith(".br"))
      .sort()
      .map((file) => ({
        name: file.slice(0, -".br".length),
        text: () => brotliDecompressSync(readFileSync(path.join(VENDORED, file))).toString(),
      })),
    { name: "figma.yaml", text: () => readFileSync(figma, "utf8") },
  ];
}

export function largeDocument(name: string): RealDocument {
  const found = largeDocuments().find((document) => document.name === name);
  if (found === undefined) throw new Error(`There is no document ${name}.`);
  return found;
}
