/** Options that a call takes after its parameters. Each option is one line of OPTIONS. */
import { isSignal } from "../globals/loaders.ts";
import { ObjectKeys, RealmTypeError } from "../primordials.ts";

export interface CallOptions {
  saveAs?: string;
  signal?: AbortSignal;
  /** If false, an answer that reports a failure is returned like any other. */
  throwOnError?: boolean;
}

type OptionName = keyof CallOptions;

const OPTIONS: Record<OptionName, { expected: string; fits(value: unknown): boolean }> = {
  saveAs: { expected: '"name of a file"', fits: (value) => typeof value === "string" },
  signal: { expected: "an AbortSignal", fits: isSignal },
  throwOnError: { expected: "false", fits: (value) => typeof value === "boolean" },
};
export const TOOL_OPTIONS: readonly OptionName[] = ["saveAs", "signal", "throwOnError"];
export const ASK_OPTIONS: readonly OptionName[] = ["signal"];

/** A number is an array index, which `list.map(tools.service.tool)` passes. */
export function readOptions(what: string, allowed: readonly OptionName[], given: unknown): CallOptions {
  const options: CallOptions = {};
  if (given === undefined || typeof given === "number") return options;
  if (typeof given !== "object" || given === null) throw optionError(what, allowed);
  const names = ObjectKeys(given);
  for (let index = 0; index < names.length; index++) {
    const name = names[index] as OptionName;
    const value = (given as CallOptions)[name];
    if (!isAllowed(allowed, name) || (value !== undefined && !OPTIONS[name].fits(value))) {
      throw optionError(what, allowed);
    }
    (options as Record<string, unknown>)[name] = value;
  }
  return options;
}

function isAllowed(allowed: readonly OptionName[], name: string): boolean {
  for (let index = 0; index < allowed.length; index++) if (allowed[index] === name) return true;
  return false;
}

function optionError(what: string, allowed: readonly OptionName[]): Error {
  let list = "";
  for (let index = 0; index < allowed.length; index++) {
    const name = allowed[index] as OptionName;
    list += `${index === 0 ? "" : ", "}${name}: ${OPTIONS[name].expected}`;
  }
  return new RealmTypeError(`${what} takes {${list}} as its second argument, or none.`);
}
