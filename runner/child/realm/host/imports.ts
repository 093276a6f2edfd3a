/** What `import` finds in a script: modules of the realm, whose code is loaded with the first of them. */

import { RealmError, StringOf } from "../primordials.ts";
import { loadFormatter } from "../printing/console.ts";
import { quote } from "../sending.ts";
import { loadFiles } from "./calls.ts";

let find: ((specifier: string) => unknown) | undefined;

/**
 * Given to the script's function, which is made of all its source files: answers the namespace of a built-in module, or
 * under `cyrnel:link` the function that links those files.
 */
export function importModule(specifier: string): unknown {
  find ??= (require("../modules/index.ts") as typeof import("../modules/index.ts")).createModules({
    importError,
    loadFormatter,
    loadFiles,
  });
  return find(specifier);
}

/** What a call of `import()` rejects with that leads to nothing. */
export function importError(specifier: unknown): Error {
  return new RealmError(
    `import(${quote(StringOf(specifier))}) finds nothing: a script can import files of its workspace and modules such as node:fs and node:path, by a literal name. Packages are not available; use the globals there are, and services through tools.<service>.<tool>(parameters).`,
  );
}
