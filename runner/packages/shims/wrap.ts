/** What `import` finds of a CommonJS module of a package. */
type Exports = Record<string, unknown>;

/**
 * `default` is `module.exports`, beside what that has by name when it is loaded. One that was compiled from an ES module is taken
 * for what it was, as its declarations of types say.
 */
export function wrap(exports: unknown): object {
  const isObject = (typeof exports === "object" && exports !== null) || typeof exports === "function";
  if (isObject && (exports as Exports).__esModule === true && Object.hasOwn(exports as object, "default"))
    return exports as object;
  const all = { __proto__: null } as unknown as Exports;
  for (const name of isObject ? Object.keys(exports as object) : []) {
    if (name === "default") continue;
    Object.defineProperty(all, name, { get: () => (exports as Exports)[name], enumerable: true });
  }
  all.default = exports;
  return all;
}
