/** Generates the reference in docs/cli.md from the command declarations; with `--check` only compares. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { createProgram } from "./program.ts";
import type { Shell } from "./session.ts";
import { createTerminal } from "./terminal.ts";

const PAGE = join(import.meta.dirname, "../docs/cli.md");
const BEGIN = "<!-- Generated from command by npm run check -- --write. -->\n";

function describe(command: Command, path: string): string[] {
  const visible = command.commands.filter((one) => one.name() !== "help" && one.summary() !== "");
  if (visible.length > 0) return visible.flatMap((one) => describe(one, `${path} ${one.name()}`));
  const names = command.registeredArguments.map((one) => {
    const name = one.variadic ? `${one.name()}...` : one.name();
    return one.required ? `<${name}>` : `[${name}]`;
  });
  const aliases = command.aliases().map((alias) => ` (\`${alias}\`)`);
  const lines = [`### \`${[path, ...names].join(" ")}\`${aliases.join("")}`, "", command.description(), ""];
  const rows = [
    ...command.registeredArguments.map((one) => [
      one.required ? `<${one.name()}>` : `[${one.name()}]`,
      one.description,
    ]),
    ...command.options.map((one) => [one.flags, one.description]),
  ];
  if (rows.length > 0) {
    lines.push(
      "| | |",
      "| --- | --- |",
      ...rows.map(([name, text]) => `| \`${name}\` | ${escapeCell(text ?? "")} |`),
      "",
    );
  }
  return lines;
}

function escapeCell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;");
}

function makeReference(): string {
  const nowhere = createTerminal(process.stdout, false);
  const shell: Shell = {
    url: undefined,
    key: undefined,
    stdin: process.stdin,
    stdout: nowhere,
    stderr: nowhere,
    root: "",
    args: [],
    signal: new AbortController().signal,
    exitCode: 0,
    become() {
      throw new Error("Nothing is started to write a page.");
    },
  };
  return `${describe(createProgram(shell, "0"), "cyrnel").join("\n").trimEnd()}\n`;
}

const page = readFileSync(PAGE, "utf8");
const at = page.indexOf(BEGIN);
if (at < 0) throw new Error(`docs/cli.md has no line ${BEGIN}`);
const wanted = `${page.slice(0, at)}${BEGIN}\n${makeReference()}`;
if (process.argv.includes("--check")) {
  if (wanted !== page) {
    process.stderr.write("docs/cli.md is not what the commands say. Run: npm run check -- --write\n");
    process.exitCode = 1;
  }
} else writeFileSync(PAGE, wanted);
