/** Prints examples/cyrnel.d.ts, which a server writes for its own tools: `node tests/checks/example-declarations.ts [--check]`. */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { printOpenAmbient } from "#api/tools/declarations/ambient.ts";

const FILE = fileURLToPath(new URL("../../examples/cyrnel.d.ts", import.meta.url));

const text = printOpenAmbient();
if (!process.argv.includes("--check")) await writeFile(FILE, text);
else if ((await readFile(FILE, "utf8").catch(() => "")) !== text) {
  console.error(
    "examples/cyrnel.d.ts does not match api/tools/declarations/ambient.ts. Run: npm run check -- --write",
  );
  process.exitCode = 1;
}
