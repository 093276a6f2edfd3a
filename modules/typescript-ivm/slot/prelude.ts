/**
 * What an isolate evaluates before a script, as one script: eval is taken out, the realm is installed and handed its
 * libraries on demand, and `import()` gets a function that says what to use instead.
 */
import { IMPORT_FUNCTION_ESCAPED as IMPORT_FUNCTION } from "#runner/child/import-function.ts";
import { DISABLE_EVAL } from "./disable-eval.ts";
import type { RealmSource } from "./realm-source.ts";

export interface PreludeOptions {
  allowEval: boolean;
  /** Puts the libraries into the prelude, so that `load` is never called. */
  inlineLibraries: boolean;
}

/**
 * A script whose completion value is `(emit, load, allowWasm) => { realm, provide }`. `load(name)` must call `provide`
 * with the value of that library's expression before it returns. The function for `import()` is a lexical binding: the
 * global object does not show it.
 */
export function makePrelude({ core, libraries }: RealmSource, options: PreludeOptions): string {
  const inline = options.inlineLibraries
    ? Object.entries(libraries).map(([name, library]) => `${JSON.stringify(name)}: ${library},`)
    : [];
  return `${options.allowEval ? "" : DISABLE_EVAL}let ${IMPORT_FUNCTION};
  ((makeInstall) => (emit, load, allowWasm) => {
    const libraries = { __proto__: null, ${inline.join("")} };
    const loaded = { __proto__: null };
    let loading;
    const require = (name) => {
      if (name in loaded) return loaded[name];
      loading = name;
      if (!(name in libraries)) load(name);
      const { [name]: library } = libraries;
      return loaded[name] = library(require);
    };
    const realm = makeInstall(require)(emit, allowWasm);
    ${IMPORT_FUNCTION} = async (specifier) => { throw realm.importError(\`\${specifier}\`); };
    return { __proto__: null, realm, provide: (library) => { libraries[loading] = library; } };
  })(${core})`;
}
