/** Prints docs/configuration.md from the variables of config.ts: `node api/config/page.ts [--check]`. */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { CONFIG_GROUPS } from "./variables.ts";

const PAGE = fileURLToPath(new URL("../../docs/configuration.md", import.meta.url));

export function formatConfigurationPage(): string {
  const sections = Object.entries(CONFIG_GROUPS).flatMap(([title, settings]) => [
    `## ${title}`,
    "",
    "| variable | default | meaning |",
    "| --- | --- | --- |",
    ...Object.entries(settings).map(
      ([name, { fallback, description }]) =>
        `| \`${name}\` | ${fallback === null ? "unset" : `\`${fallback}\``} | ${description} |`,
    ),
    "",
  ]);
  return [
    "# Configuration",
    "",
    "The server reads its environment variables once, at start. An empty variable counts as unset. If any value is invalid, the server",
    "prints every problem at once and exits with code 78 (`EX_CONFIG`) before it opens anything. A variable that begins with `CYRNEL_`",
    "and is not listed here has no effect; the server warns about it at start and suggests the closest name.",
    "",
    ...sections,
    "This page is generated from `api/config/variables.ts` by `node api/config/page.ts`.",
    "",
  ].join("\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (!process.argv.includes("--check")) await writeFile(PAGE, formatConfigurationPage());
  else if ((await readFile(PAGE, "utf8").catch(() => "")) !== formatConfigurationPage()) {
    console.error(
      "docs/configuration.md does not match api/config/variables.ts. Run: node api/config/page.ts",
    );
    process.exitCode = 1;
  }
}
