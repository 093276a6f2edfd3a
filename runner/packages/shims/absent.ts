/** What stands in for a module that a script does not have: it can be imported, and throws where something of it is used. */

/** `why`: of a module of Node; empty: nothing more is to be said. */
export function absentModule(name: string, why: string): object {
  const members = new Map<string, unknown>();
  const find = (key: string): unknown => {
    let member = members.get(key);
    if (member === undefined) {
      // A function, so that classes can be derived from it.
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
/** What is asked of any object: a promise is no promise, and a module of ES no such thing, because of an answer here. */
const PLAIN = new Set(["__esModule", "then", "default", "constructor", "toString", "valueOf", "toJSON"]);

export function notInstalled(name: string): Error {
  const error = new Error(
    `The package ${JSON.stringify(name)} is asked for by this one, and is not installed with it.`,
  );
  return Object.assign(error, { code: "MODULE_NOT_FOUND" });
}
