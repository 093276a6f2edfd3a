/** A script's input, combined from `--input`, `--set` and the arguments after `--`. */
import { isRawInteger } from "#kernel/input.ts";
import { usageFailure } from "../failure.ts";
import { parseJson, readText } from "../options.ts";
import type { Session } from "../session.ts";

/** Includes whitespace; the script's input may be 1 MiB. */
const MAX_INPUT_FILE_BYTES = 8 * 1024 * 1024;

/** Servers reject these names, because copying them could change an object's prototype. */
const FORBIDDEN_NAME = /(?:^|\.)(?:__proto__|constructor\.prototype)(?:\.|$)/;

/** Returns undefined if no input was given. Positional arguments become the member `args`. */
export async function readInput(
  session: Session,
  path: string | undefined,
  pairs: readonly [name: string, value: unknown][],
  args: readonly string[],
): Promise<unknown> {
  const set = args.length === 0 ? pairs : [...pairs, ["args", args] as const];
  const what = path === "-" ? "Standard input (--input -)" : `The file of --input, ${path},`;
  const given =
    path === undefined ? undefined : parseJson(await readText(path, session, MAX_INPUT_FILE_BYTES), what);
  if (set.length === 0) return given;
  const input = given === undefined ? {} : given;
  for (const [name, value] of set) {
    if (FORBIDDEN_NAME.test(name)) {
      throw usageFailure(
        `--set ${name} names a member that no input may have (__proto__, constructor.prototype).`,
      );
    }
    setMember(input, name.split("."), value, name);
  }
  return input;
}

/** Defines members instead of assigning them, so that inherited names work like any other. */
function setMember(target: unknown, [key = "", ...rest]: string[], value: unknown, name: string): void {
  if (key === "") throw usageFailure(`Expected --set name=value or a.b=value; found "${name}=…".`);
  if (typeof target !== "object" || target === null || Array.isArray(target) || isRawInteger(target)) {
    const type = isRawInteger(target) ? "number" : typeof target;
    const found = target === null ? "null" : Array.isArray(target) ? "a list" : `a ${type}`;
    throw usageFailure(`--set ${name} needs an object to set "${key}" in; the input has ${found} there.`);
  }
  const known = Object.getOwnPropertyDescriptor(target, key)?.value;
  const member = rest.length === 0 ? value : (known ?? {});
  Object.defineProperty(target, key, { value: member, enumerable: true, writable: true, configurable: true });
  if (rest.length > 0) setMember(member, rest, value, name);
}
