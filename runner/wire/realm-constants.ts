/**
 * Constants shared by the host's source transforms and the realm. The realm bundles this file, so it must not import
 * anything.
 */

/**
 * The binding that replaces `import` in every `import()` call of a script, because an error from Node or V8 would be
 * an object of the host's realm. Like `import`, it has six UTF-16 units, so source positions do not change. Nobody
 * types the dotless i by accident.
 */
export const IMPORT_FUNCTION = "\u0131mport";

export const IMPORT_FUNCTION_ESCAPED = "\\u0131mport";

/**
 * A script without `return` returns the value of its last expression as the only member, with this name, of an object
 * without prototype. The realm drops the value if JSON cannot represent it.
 */
export const LAST_VALUE = "cyrnel:last";

/** The built-in module whose function links the files of a script. */
export const LINKER = "cyrnel:link";

/**
 * Attachment bytes that realm and embedder exchange in one base64 text. Must be a multiple of three. V8 allocates
 * texts of this length in its young generation, so file pieces leave no long-lived garbage.
 */
export const ENCODED_BYTES = 96_000;
