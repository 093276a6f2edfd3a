/** Resolves a script's imports to modules of the realm, which are loaded on first use. */

import { loadFiles } from "./host/call-files.ts";
import { RealmError, StringOf } from "./primordials.ts";
import { loadFormatter } from "./printing/console.ts";
import { quote } from "./sending.ts";
import { showPackages } from "./stacks.ts";

let find: ((specifier: string) => unknown) | undefined;
let open: (text: string) => unknown;

/** `openPackage` is the embedder's `open` (see README.md). Like `emit`, it must stay in closures of the realm. */
export function connectPackages(openPackage: (text: string) => unknown): void {
  open = openPackage;
  showPackages((digest) => open(`mappings ${digest}`));
}

/**
 * Passed to the script's function, which contains all its source files. Returns the namespace of a built-in module
 * or, for `cyrnel:link`, the function that links the files.
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

/**
 * Loads the libraries that most imports and prints need, so that a zygote's forks share them. They must not depend on
 * a run.
 */
export function preload(): void {
  loadFormatter();
  importModule("cyrnel:link");
  // `RegExp.lastMatch` and the like show the last match in a context. This one hides the realm's from the script.
  /(?:)/.test("");
}

/** Returns the error with which `import()` rejects if it finds no module. */
export function importError(specifier: unknown): Error {
  return new RealmError(
    `import(${quote(StringOf(specifier))}) finds nothing: a script can import files of its workspace, modules such as node:fs and node:path, and packages that are installed, by a literal name. Use the globals there are, and services through tools.<service>.<tool>(parameters).`,
  );
}
