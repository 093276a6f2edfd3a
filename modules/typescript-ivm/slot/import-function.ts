/**
 * The hidden global that stands for `import()` in an isolate (see ../import-calls.ts): it rejects with the realm's own
 * Error, so that a script is told what to use instead.
 */
import { IMPORT_FUNCTION } from "../import-function-name.ts";

/** Wraps the realm's bundle, an expression, into another one with the same install function. */
export function addImportFunction(realmSource: string): string {
  return `((install) => (emit, allowWasm) => {
    const realm = install(emit, allowWasm);
    Object.defineProperty(globalThis, "${IMPORT_FUNCTION}", {
      value: async (specifier) => { throw realm.importError(\`\${specifier}\`); },
    });
    return realm;
  })(${realmSource})`;
}
