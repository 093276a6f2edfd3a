/** The script that is being written and its limits: kept in this tab, through other views, a sign-in and a reload. */
import { effect, signal } from "@preact/signals";

const STORED_AS = "cyrnel.script";

const FIRST_SCRIPT = `// A script is a plain body: await and return work at its top.
// Type "tools." to see the tools of the installed services.
const words = ["hello", "world"];

for (const word of words) {
  console.log("counting", word);
}

return words.map((word) => ({ word, letters: word.length }));
`;

export interface Limits {
  /** Texts as they stand in their fields; empty: the server's default. */
  timeoutSeconds: string;
  memoryMb: string;
  cpuMs: string;
}

export const draft = signal(readStored() ?? FIRST_SCRIPT);
export const limits = signal<Limits>({ timeoutSeconds: "", memoryMb: "", cpuMs: "" });
/** The process started last from here. */
export const started = signal<number | null>(null);

effect(() => {
  try {
    if (draft.value === FIRST_SCRIPT) sessionStorage.removeItem(STORED_AS);
    else sessionStorage.setItem(STORED_AS, draft.value);
  } catch {
    // Without storage, or beyond what it takes, memory has it.
  }
});

function readStored(): string | null {
  try {
    return sessionStorage.getItem(STORED_AS);
  } catch {
    return null;
  }
}

/** For whoever signs in next. */
export function forgetDraft(): void {
  draft.value = FIRST_SCRIPT;
  limits.value = { timeoutSeconds: "", memoryMb: "", cpuMs: "" };
  started.value = null;
}

/** Limits as the API takes them. Throws with what a person has to mend. */
export function readLimits({ timeoutSeconds, memoryMb, cpuMs }: Limits): {
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
