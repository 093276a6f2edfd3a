/** The draft script with its input, files and limits: kept in this tab. The script also survives a reload. */
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

/** Texts as typed; an empty text means the server's default. */
const NO_LIMITS = { timeoutSeconds: "", memoryMb: "", cpuMs: "" };

const stored = storedText(() => sessionStorage, "cyrnel.script");

export const draft = signal(stored.read() ?? FIRST_SCRIPT);
export const limits = signal(NO_LIMITS);
/** JSON as typed; empty means no input. */
export const input = signal("");
export const inputSchema = signal("");
/** The script's name among its files, if any. Its imports are relative to it. */
export const scriptName = signal<string | null>(null);
export const started = signal<number | null>(null);

effect(() => stored.write(draft.value === FIRST_SCRIPT ? null : draft.value));

/** Opens the editor page with `code`, its input and its files. */
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

/** The next user to sign in must not see the draft. */
export function forgetDraft(): void {
  draft.value = FIRST_SCRIPT;
  limits.value = NO_LIMITS;
  input.value = "";
  inputSchema.value = "";
  replaceFiles([]);
  scriptName.value = null;
  started.value = null;
}

/** Formats a recorded value for a field; null becomes empty. */
export function writeJson(value: unknown): string {
  return value === undefined || value === null ? "" : JSON.stringify(value, null, 2);
}

/** Parses a field's JSON; returns undefined if it is empty. Throws an Error that describes the problem. */
export function readJson(what: string, text: string): unknown {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${what} must be JSON: ${(error as Error).message}`);
  }
}

/**
 * Parses a field's schema, which must be an object; returns undefined if it is empty. Throws an Error that describes
 * the problem.
 */
export function readSchema(text: string): Record<string, unknown> | undefined {
  const schema = readJson("The input schema", text);
  if (schema === undefined) return undefined;
  if (typeof schema === "object" && schema !== null && !Array.isArray(schema)) return { ...schema };
  throw new Error("The input schema must be a JSON object.");
}

/** Returns the limits in the form that the API takes. Throws an Error that describes the problem. */
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
