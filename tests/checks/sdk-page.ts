/** Generates docs/sdk.md from the exports of sdk/ and their comments: `node tests/checks/sdk-page.ts [--check]`. */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { ts } from "@ts-morph/common";

const PAGE = new URL("../../docs/sdk.md", import.meta.url);
const SDK = new URL("../../sdk/", import.meta.url);
const SECTIONS = [
  { title: "Every module", file: "module.ts" },
  { title: "Adapters", file: "adapter.ts" },
  { title: "Environments", file: "environment.ts" },
  { title: "Large integers", file: "exact-json.ts" },
];

interface Entry {
  names: string[];
  description: string;
  code: string;
}

/** Returns the exports of a file in order. A type inferred from a schema joins its schema. */
async function readEntries(file: string): Promise<Entry[]> {
  const source = ts.createSourceFile(
    file,
    await readFile(new URL(file, SDK), "utf8"),
    ts.ScriptTarget.Latest,
    true,
  );
  const entries: Entry[] = [];
  for (const statement of source.statements) {
    if (!ts.canHaveModifiers(statement)) continue;
    const isExported = ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
    const names = isExported ? listNames(statement) : [];
    if (names.length === 0) continue;
    const entry = { names, description: describe(statement), code: printCode(statement, source) };
    const before = entries.at(-1);
    const isNaming = ts.isTypeAliasDeclaration(statement) && /\btypeof (\w+)/.exec(entry.code)?.[1];
    if (before && isNaming && before.names[0] === isNaming && entry.description === "") {
      before.names.push(...names);
      before.code += `\n${entry.code}`;
    } else entries.push(entry);
  }
  return entries;
}

/** Returns the code of a statement, of a function only its signature. */
function printCode(statement: ts.Statement, source: ts.SourceFile): string {
  const code = statement.getText(source);
  const body = ts.isFunctionDeclaration(statement) ? statement.body : undefined;
  return body === undefined ? code : `${code.slice(0, -body.getText(source).length).trimEnd()};`;
}

function listNames(statement: ts.Statement): string[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  if (ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement))
    return [statement.name.text];
  if (ts.isFunctionDeclaration(statement) && statement.name !== undefined) return [statement.name.text];
  throw new Error(`sdk/ exports something this page has no form for: ${statement.getText().slice(0, 80)}`);
}

/** Returns the comment of a statement, with one line per paragraph. */
function describe(statement: ts.Statement): string {
  const [comment] = ts.getJSDocCommentsAndTags(statement).slice(-1);
  const text = comment && ts.isJSDoc(comment) ? ts.getTextOfJSDocComment(comment.comment) : undefined;
  return (text ?? "").replaceAll(/\n(?!\n)/g, " ").trim();
}

function print({ names, description, code }: Entry): string {
  const title = `### ${names.map((name) => `\`${name}\``).join(", ")}`;
  return [title, ...(description === "" ? [] : [description]), `\`\`\`ts\n${code}\n\`\`\``].join("\n\n");
}

/** The whole page. */
export async function formatSdkPage(): Promise<string> {
  const sections = await Promise.all(
    SECTIONS.map(async ({ title, file }) => ({ title, file, entries: await readEntries(file) })),
  );
  return `${[
    "# The module contract",
    "`@cyrnel/sdk` exports types for modules, zod schemas, constants, and functions for JSON with large integers. [modules.md](modules.md) shows how to write, install and change a module.",
    sections
      .map(
        ({ title, file, entries }) =>
          `- [${title}](#${title.toLowerCase().replaceAll(" ", "-")}) ([\`sdk/${file}\`](../sdk/${file})): ${entries.flatMap(({ names }) => names.map((name) => `\`${name}\``)).join(", ")}`,
      )
      .join("\n"),
    ...sections.flatMap(({ title, entries }) => [`## ${title}`, ...entries.map(print)]),
    "This page is generated from `sdk/` by `npm run check -- --write`.",
  ].join("\n\n")}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = await formatSdkPage();
  if (!process.argv.includes("--check")) await writeFile(PAGE, text);
  else if ((await readFile(PAGE, "utf8").catch(() => "")) !== text) {
    console.error("docs/sdk.md does not match sdk/. Run: npm run check -- --write");
    process.exitCode = 1;
  }
}
