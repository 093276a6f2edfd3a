/**
 * The binding that stands for `import` in every call of it that a script makes: what Node or the engine would reject with is an
 * object of the host's realm, or says nothing. Six UTF-16 units, so that nothing moves where it is put, and with a dotless i,
 * which is not written by accident.
 */
export const IMPORT_FUNCTION = "\u0131mport";

/** The same in ASCII, for code that declares it. */
export const IMPORT_FUNCTION_ESCAPED = "\\u0131mport";
