/** What `import` finds in a script: modules of the realm, whose code is loaded with the first of them. */

import { loadFiles } from "./host/call-files.ts";
import { RealmError, StringOf } from "./primordials.ts";
import { loadFormatter } from "./printing/console.ts";
import { quote } from "./sending.ts";
import { showPackages } from "./stacks.ts";

let find: ((specifier: string) => unknown) | undefined;
let open: (text: string) => unknown;

/** `openPackage`: of the embedder, see README.md. It is held in closures of the realm, as `emit` is. */
export function connectPackages(openPackage: (text: string) => unknown): void {
  open = openPackage;
  showPackages((digest) => open(`mappings ${digest}`));
}

/**
 * Given to the script's function, which is made of all its source files: answers the namespace of a built-in module, or
 * under `cyrnel:link` the function that links those files.
 */
export function importModule(specifier: string): unknown {
  find ??= (require("./modules/index.ts") as typeof import("./modules/index.ts")).createModules({
    importError,
    loadFormatter,
    loadFiles,
    openPackage: (digest) => open(`code ${digest}`),
  });
  return find(specifier);
}

/** Loads what most imports and prints need and no run has to do with, for a zygote: its forks have it. */
export function preload(): void {
  loadFormatter();
  importModule("cyrnel:link");
  // `RegExp.lastMatch` and its like are of the last match in a context, and a script's first is its own.
  /(?:)/.test("");
}

/** What a call of `import()` rejects with that leads to nothing. */
export function importError(specifier: unknown): Error {
  return new RealmError(
    `import(${quote(StringOf(specifier))}) finds nothing: a script can import files of its workspace, modules such as node:fs and node:path, and packages that are installed, by a literal name. Use the globals there are, and services through tools.<service>.<tool>(parameters).`,
  );
}
