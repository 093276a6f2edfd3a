/**
 * Writes docs/openapi.json from the registered routes; `--check` compares instead. Needs neither server nor database.
 */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { buildApp } from "#api/app.ts";
import { parseConfig } from "#api/config.ts";
import { describeOnly } from "./deps.ts";

const FILE = fileURLToPath(new URL("../../../docs/openapi.json", import.meta.url));

/** The document of a server with default configuration, as text. */
export async function printOpenApiDocument(): Promise<string> {
  const parsed = parseConfig({});
  if (!parsed.ok) throw new Error(parsed.problems.join("\n"));
  const app = await buildApp(parsed.config, describeOnly(pino({ level: "silent" })));
  await app.ready();
  try {
    return `${JSON.stringify(app.swagger(), null, 2)}\n`;
  } finally {
    await app.close();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const document = await printOpenApiDocument();
  if (!process.argv.includes("--check")) await writeFile(FILE, document);
  else if ((await readFile(FILE, "utf8").catch(() => "")) !== document) {
    console.error("docs/openapi.json does not match the routes. Run: node api/http/openapi/document.ts");
    process.exitCode = 1;
  }
}
