/** Creates the namespace that `import` returns for a package's CommonJS module. */
type Exports = Record<string, unknown>;

/**
 * `default` is `module.exports`; the other names are its members at load time. A module compiled from an ES module is
 * treated as that ES module, as its type declarations say.
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
