/** The blocks of a page of the documentation, typed as they stand and compared with what the page shows. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import { PROJECT } from "./started-server.ts";

export const DEFAULT_ORIGIN = "http://127.0.0.1:9371";
const COMMAND_TIMEOUT_MS = 60_000;

export interface Block {
  /** What stands behind the opening fence: `bash runnable`. */
  info: string;
  body: string;
  /** The block that follows, where the page shows what is printed; `json output` has a brace first. */
  shown: string | null;
}

const isAnswer = (info: string) => info === "json output" || info === "text output";

/** The blocks in the order of the page, each with the answer that is shown below it. */
export async function readBlocks(page: string): Promise<Block[]> {
  const text = await readFile(path.join(PROJECT, page), "utf8");
  const blocks = [...text.matchAll(/^( *)```([^\n]*)\n([\s\S]*?)^ *```$/gm)].map(
    ([, indent = "", info = "", body = ""]) => ({
      info,
      body: body.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    }),
  );
  return blocks.flatMap((block, index) => {
    if (isAnswer(block.info)) return [];
    const next = blocks[index + 1];
    return [{ ...block, shown: next !== undefined && isAnswer(next.info) ? next.body : null }];
  });
}

/** Runs a block in a shell of its own; answers what it printed on standard output. Throws if a command of it fails. */
export async function type(
  body: string,
  {
    cwd = PROJECT,
    environment,
    timeoutMs = COMMAND_TIMEOUT_MS,
  }: { cwd?: string; environment: Record<string, string>; timeoutMs?: number },
): Promise<string> {
  const { stdout } = await promisify(execFile)("bash", ["-c", `set -euo pipefail\n${body}`], {
    cwd,
    env: environment,
    timeout: timeoutMs,
  });
  // Only error answers carry one.
  expect(stdout).not.toContain('"requestId"');
  return stdout;
}

/** Fails unless what was printed is what the page shows. */
export function compare(shown: string | null, printed: string): void {
  if (shown === null) return;
  const message = `the page shows ${shown}\nprinted was ${printed}`;
  if (shown.trimStart().startsWith("{")) {
    // Each command answers one object; the page shows the last one.
    const last = printed.slice(printed.lastIndexOf("}{") + 1);
    expect(matches(JSON.parse(shown), JSON.parse(last)), message).toBe(true);
  } else expect(matchesText(shown, printed), message).toBe(true);
}

/** A shown answer may leave members out and write … for what differs from run to run. */
function matches(shown: unknown, found: unknown): boolean {
  if (shown === "…") return found !== undefined;
  if (typeof shown === "string" && typeof found === "string") return matchesText(shown, found);
  if (typeof shown !== "object" || shown === null) return shown === found;
  if (Array.isArray(shown)) {
    return (
      Array.isArray(found) &&
      shown.length === found.length &&
      shown.every((value, index) => matches(value, found[index]))
    );
  }
  return Object.entries(shown).every(([key, value]) =>
    matches(value, (found as Record<string, unknown> | null)?.[key]),
  );
}

const toLines = (text: string) =>
  text
    .trim()
    .split("\n")
    .map((line) => line.trim().replaceAll(/ +/g, " "));

/** … stands for any text; the width of columns does not count. */
function matchesLine(shown: string, printed: string): boolean {
  const parts = shown.split("…").map((part) => part.replaceAll(/[.*+?^${}()|[\]\\/]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(printed);
}

/** Line by line. */
function matchesText(shown: string, printed: string): boolean {
  const found = toLines(printed);
  const wanted = toLines(shown);
  return wanted.length === found.length && wanted.every((line, at) => matchesLine(line, found[at] ?? ""));
}

/** Whether every line that is shown was printed, in this order; others may stand between them. */
export function containsLines(shown: string, printed: string): boolean {
  const found = toLines(printed);
  let from = 0;
  return toLines(shown).every((line) => {
    const at = found.findIndex((other, index) => index >= from && matchesLine(line, other));
    from = at + 1;
    return at >= 0;
  });
}
