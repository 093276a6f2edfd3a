/** Prints docs/configuration.md from the variables of config.ts: `node api/config/page.ts [--check]`. */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { CONFIG_VARIABLES } from "./variables.ts";

const PAGE = fileURLToPath(new URL("../../docs/configuration.md", import.meta.url));

/** The whole page. */
export function formatConfigurationPage(): string {
  const rows = Object.entries(CONFIG_VARIABLES).map(
    ([name, { fallback, description }]) =>
      `| \`${name}\` | ${fallback === null ? "unset" : `\`${fallback}\``} | ${description} |`,
  );
  return [
    "# Configuration",
    "",
    "Environment variables, read once at start. An empty variable counts as unset. If anything is wrong the server prints",
    "every problem at once and exits with code 78 (`EX_CONFIG`) before it opens anything. A variable that begins with `CYRNEL_` and",
    "is not listed here does nothing: the server names it at start, with the nearest that there is.",
    "",
    "| variable | default | meaning |",
    "| --- | --- | --- |",
    ...rows,
    "",
    "This page is printed from `api/config/variables.ts` by `node api/config/page.ts`.",
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
