/** Replaces a module that scripts do not have: importing it works, using it throws. */

/** `why` explains why scripts lack a Node module; it may be empty. */
export function absentModule(name: string, why: string): object {
  const members = new Map<string, unknown>();
  const find = (key: string): unknown => {
    let member = members.get(key);
    if (member === undefined) {
      // A function, so that classes can extend it.
      member = function absent(): never {
        throw new Error(`${name}.${key} is not available in a script${why === "" ? "" : `: ${why}`}.`);
      };
      members.set(key, member);
    }
    return member;
  };
  const prototype = new Proxy(
    {},
    { get: (_, key) => (typeof key === "symbol" || PLAIN.has(key) ? undefined : find(key)) },
  );
  return Object.create(prototype);
}
/** The engine and esbuild read these from any object: a value would make the module a promise or an ES module. */
const PLAIN = new Set(["__esModule", "then", "default", "constructor", "toString", "valueOf", "toJSON"]);

export function notInstalled(name: string): Error {
  const error = new Error(`This package requires ${JSON.stringify(name)}, which is not installed with it.`);
  return Object.assign(error, { code: "MODULE_NOT_FOUND" });
}
