/** Constants that the host's source transforms and the realm must agree on. The realm bundles this file: import nothing here. */

/**
 * The binding that replaces `import` in every `import()` call of a script. An error from Node or V8 would be an object of the
 * host's realm. It has six UTF-16 units, like `import`, so source positions stay; nobody types the dotless i by accident.
 */
export const IMPORT_FUNCTION = "\u0131mport";

/** `IMPORT_FUNCTION` in ASCII, for code that declares it. */
export const IMPORT_FUNCTION_ESCAPED = "\\u0131mport";

/**
 * A script without `return` returns its last expression's value as the only member, with this name, of an object without a
 * prototype. The realm drops the value if JSON cannot hold it.
 */
export const LAST_VALUE = "cyrnel:last";

/** The built-in module whose function links the files of a script. */
export const LINKER = "cyrnel:link";

/**
 * Bytes of an attachment that realm and embedder exchange in one base64 text. A multiple of three. V8 allocates texts of this
 * length in its young generation, so file pieces leave no long-lived garbage.
 */
export const ENCODED_BYTES = 96_000;
