/** The script that is being written and its limits: kept in this tab, through other pages, a sign-in and a reload. */
import { effect, signal } from "@preact/signals";
import { navigate } from "wouter-preact/use-hash-location";
import { storedText } from "../session/storage.ts";

const FIRST_SCRIPT = `// A script is a plain body: await and return work at its top.
// Type "tools." to see the tools of the installed services.
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
/** The process started last from here. */
export const started = signal<number | null>(null);

effect(() => stored.write(draft.value === FIRST_SCRIPT ? null : draft.value));

/** Opens the page of the editor with `code` in it. */
export function editScript(code: string): void {
  draft.value = code;
  started.value = null;
  navigate("/run");
}

/** The next person who signs in sees nothing of it. */
export function forgetDraft(): void {
  draft.value = FIRST_SCRIPT;
  limits.value = NO_LIMITS;
  started.value = null;
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
