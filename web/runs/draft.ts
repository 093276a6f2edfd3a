/** The script that is being written, its input, files and limits: kept in this tab, the script also through a reload. */
import { effect, signal } from "@preact/signals";
import { navigate } from "wouter-preact/use-hash-location";
import { replaceFiles } from "../files/given-files.ts";
import type { Process } from "../server/api.ts";
import { storedText } from "../server/storage.ts";

const FIRST_SCRIPT = `// Top-level await and return work here.
// Type "tools." to see the installed tools.
const words = ["hello", "world"];

for (const word of words) {
  console.log("counting", word);
}

return words.map((word) => ({ word, letters: word.length }));
`;

/** Texts as they stand in their fields; empty: the server's default. */
const NO_LIMITS = { timeoutSeconds: "", memoryMb: "", cpuMs: "" };

const stored = storedText(() => sessionStorage, "cyrnel.script");

export const draft = signal(stored.read() ?? FIRST_SCRIPT);
export const limits = signal(NO_LIMITS);
/** JSON as it stands in its fields; empty: none. */
export const input = signal("");
export const inputSchema = signal("");
/** Name of the script among its files, if any. Its imports are relative to it. */
export const scriptName = signal<string | null>(null);
/** The process started last from here. */
export const started = signal<number | null>(null);

effect(() => stored.write(draft.value === FIRST_SCRIPT ? null : draft.value));

/** Opens the page of the editor with `code` in it, and what it is given. */
export function editScript(
  code: string,
  given: Partial<Pick<Process, "input" | "inputSchema" | "files" | "name">> = {},
): void {
  draft.value = code;
  input.value = writeJson(given.input);
  inputSchema.value = writeJson(given.inputSchema);
  replaceFiles(given.files ?? []);
  scriptName.value = given.name ?? null;
  started.value = null;
  navigate("/run");
}

/** The next person who signs in sees nothing of it. */
export function forgetDraft(): void {
  draft.value = FIRST_SCRIPT;
  limits.value = NO_LIMITS;
  input.value = "";
  inputSchema.value = "";
  replaceFiles([]);
  scriptName.value = null;
  started.value = null;
}

/** A field's text for a value of a record; null stands for none there. */
export function writeJson(value: unknown): string {
  return value === undefined || value === null ? "" : JSON.stringify(value, null, 2);
}

/** The JSON of a field; undefined for an empty one. Throws with what is wrong with it. */
export function readJson(what: string, text: string): unknown {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${what} must be JSON: ${(error as Error).message}`);
  }
}

/** The schema of a field, as an object; undefined for an empty field. Throws with what is wrong with it. */
export function readSchema(text: string): Record<string, unknown> | undefined {
  const schema = readJson("The input schema", text);
  if (schema === undefined) return undefined;
  if (typeof schema === "object" && schema !== null && !Array.isArray(schema)) return { ...schema };
  throw new Error("The input schema must be a JSON object.");
}

/** Limits as the API takes them. Throws with what is wrong with one. */
export function readLimits({ timeoutSeconds, memoryMb, cpuMs }: typeof NO_LIMITS): {
  timeout?: number;
  memoryMb?: number;
  cpuMs?: number;
} {
  const timeout = readPositive("The time limit", timeoutSeconds, false);
  const memory = readPositive("The memory limit", memoryMb, true);
  const cpu = readPositive("The processor limit", cpuMs, true);
  return {
    ...(timeout !== null && { timeout: Math.max(1, Math.round(timeout * 1000)) }),
    ...(memory !== null && { memoryMb: memory }),
    ...(cpu !== null && { cpuMs: cpu }),
  };
}

function readPositive(what: string, text: string, isWhole: boolean): number | null {
  if (text.trim() === "") return null;
  const number = Number(text);
  if (!(number > 0) || (isWhole && !Number.isInteger(number))) {
    throw new Error(`${what} must be a ${isWhole ? "whole " : ""}number above 0; found "${text}".`);
  }
  return number;
}
