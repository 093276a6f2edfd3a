/**
 * The binding that stands for `import` in an isolate: six UTF-16 units, so that nothing moves where it is put, and with a
 * dotless i, which nobody writes by accident.
 */
export const IMPORT_FUNCTION = "\u0131mport";
