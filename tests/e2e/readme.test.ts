/** The commands in README.md and examples/README.md that are marked `runnable` do what the text beside them says. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PERSONAL_ENVIRONMENT, PROJECT, type StartedServer, startServer } from "./started-server.ts";

const FILES = ["README.md", "examples/README.md"];
const DEFAULT_ORIGIN = "http://127.0.0.1:9371";
const COMMAND_TIMEOUT_MS = 60_000;

interface Block {
  name: string;
  command: string;
  /** The block that follows it, where the text shows what is printed. */
  shown: string | null;
}

async function readBlocks(file: string): Promise<Block[]> {
  const text = await readFile(path.join(PROJECT, file), "utf8");
  const fences = [...text.matchAll(/^```([^\n]*)\n([\s\S]*?)^```$/gm)].map(([, info = "", body = ""]) => ({
    info,
    body,
  }));
  return fences.flatMap(({ info, body }, index) => {
    if (!/^(bash|sh) runnable$/.test(info)) return [];
    const next = fences[index + 1];
    const shown = next?.info === "json output" || next?.info === "text output" ? next.body : null;
    return [{ name: `${file}: ${body.trim().split("\n")[0]}`, command: body, shown }];
  });
}

const blocks = (await Promise.all(FILES.map(readBlocks))).flat();

let dataDirectory: string;
let server: StartedServer;

beforeAll(async () => {
  dataDirectory = await mkdtemp(path.join(tmpdir(), "cyrnel-readme-"));
  server = await startServer(dataDirectory);
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await rm(dataDirectory, { recursive: true, force: true });
});

/** A shown answer may leave members out and write … for what differs from run to run. */
function matches(shown: unknown, found: unknown): boolean {
  if (shown === "…") return found !== undefined;
  if (typeof shown !== "object" || shown === null || Array.isArray(shown))
    return JSON.stringify(shown) === JSON.stringify(found);
  return Object.entries(shown).every(([key, value]) =>
    matches(value, (found as Record<string, unknown> | null)?.[key]),
  );
}

test("there are commands to run in each of them", () => {
  for (const file of FILES) expect(blocks.some(({ name }) => name.startsWith(file))).toBe(true);
});

// In the order of the text: later commands may name what earlier ones have made.
test.each(blocks)("$name", async ({ command, shown }) => {
  const script = `set -euo pipefail\n${command.replaceAll(DEFAULT_ORIGIN, server.origin)}`;
  const { stdout } = await promisify(execFile)("bash", ["-c", script], {
    cwd: PROJECT,
    env: PERSONAL_ENVIRONMENT,
    timeout: COMMAND_TIMEOUT_MS,
  });
  // Only error answers carry one.
  expect(stdout).not.toContain('"requestId"');
  if (shown === null) return;
  if (shown.trimStart().startsWith("{")) {
    const found = JSON.parse(stdout) as unknown;
    expect(matches(JSON.parse(shown), found), `the text shows ${shown}\nprinted was ${stdout}`).toBe(true);
  } else expect(stdout.trim()).toBe(shown.trim());
});
