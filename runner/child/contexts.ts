/**
 * The script's context, and the guarded functions between its realm and the host's. A script cannot reach any object,
 * function, promise or error of the host realm.
 */
import { type Context, constants, createContext, runInContext, Script } from "node:vm";
import type { PackageParts } from "../wire/frames.ts";
import { IMPORT_FUNCTION_ESCAPED } from "../wire/realm-constants.ts";
import { openPackage } from "./packages.ts";
import type { RealmPack, RealmPart } from "./realm-pack.ts";

/** Functions of the realm, described in realm/README.md. */
export interface Realm {
  receive(json: string, main?: unknown): void;
  turn(): void;
  reject(reason: unknown, promise?: unknown): void;
  handled(promise: unknown): void;
  fail(reason: unknown): void;
  importError(specifier: string): unknown;
  preload(): void;
}

export interface ScriptContext {
  realm: Realm;
  /**
   * Evaluates the expression `code` in the script's context. If it does not compile, returns the message of the
   * SyntaxError.
   */
  compile(code: string): unknown;
  /** Sets the packages that the script may import, by digest. Each is compiled when it is imported. */
  givePackages(packages: ReadonlyMap<string, PackageParts>): void;
  /** Returns code caches of the compiled packages, including every function that has run so far. */
  makeCodeCaches(): { digest: string; data: Buffer }[];
  isCacheAccepted: boolean;
}

/** File name of the realm's scripts, never shown in stacks. */
const REALM_FILE_NAME = "cyrnel:realm";

/** `write` receives each message of the realm and must never be reachable from a script. */
export function createScriptContext(
  { core, libraries }: Pick<RealmPack, "core" | "libraries">,
  write: (json: string) => void,
  allow: { eval: boolean; wasm: boolean },
): ScriptContext {
  const importing = allow.eval ? answerImports(() => realm) : {};
  const context = createContext(constants.DONT_CONTEXTIFY, {
    codeGeneration: { strings: allow.eval, wasm: allow.wasm },
    ...importing,
  });
  const script = compileRealmPart(core);
  const { guard, setImport } = createFront(context);
  const load = guard((name) => compileRealmPart(libraries[name] as RealmPart).runInContext(context));
  const install = script.runInContext(context)(load);
  let packages: ReadonlyMap<string, PackageParts> = new Map();
  const compiled = new Map<string, Script>();
  const open = guard((text) =>
    openPackage(packages, text, {
      parse: (source) => void new Script(source, importing),
      compile(digest, source, filename, cachedData) {
        const script = new Script(source, { filename, ...(cachedData && { cachedData }), ...importing });
        compiled.set(digest, script);
        return {
          isCached: script.cachedDataRejected === false,
          evaluate: () => script.runInContext(context),
        };
      },
    }),
  );
  const realm: Realm = install(guard(write), allow.wasm, open);
  setImport(realm);
  return {
    realm,
    compile(code) {
      let main: Script;
      try {
        main = new Script(code, { filename: "script.ts", ...importing });
      } catch (error) {
        return String((error as Error).message);
      }
      return main.runInContext(context);
    },
    givePackages(given) {
      packages = given;
    },
    makeCodeCaches: () =>
      [...compiled].map(([digest, script]) => ({ digest, data: script.createCachedData() })),
    isCacheAccepted: script.cachedDataRejected === false,
  };
}

/** V8 rejects a code cache created under other flags, which only costs time. */
function compileRealmPart({ source, cache }: RealmPart): Script {
  return new Script(source.toString("latin1"), {
    filename: REALM_FILE_NAME,
    ...(cache.length > 0 && { cachedData: cache }),
  });
}

/**
 * Handles `import()` in code that a script creates from strings, which was not rewritten. Rejects with an error of
 * the script's context, because Node's would be an object of the host realm. Requires `--experimental-vm-modules`.
 */
function answerImports(realm: () => Realm) {
  const importModuleDynamically = (specifier: unknown) => {
    throw realm().importError(String(specifier));
  };
  return { importModuleDynamically };
}

interface Front {
  /**
   * Wraps functions of the host realm in frozen functions of the script's context without prototype. They take a
   * string, pass on the return value, and return undefined instead of throwing. They stay in closures of the realm,
   * and even a leaked one would not lead to a host object.
   */
  guard(target: (text: string) => unknown): (text: string) => undefined;
  setImport(realm: Realm): void;
}

const FRONT = `"use strict";let ${IMPORT_FUNCTION_ESCAPED};({__proto__:null,
guard:(target)=>Object.freeze(Object.setPrototypeOf((text)=>{try{if(typeof text==="string")return target(text)}catch{}},null)),
setImport:({importError})=>{${IMPORT_FUNCTION_ESCAPED}=async(specifier)=>{throw importError(\`\${specifier}\`)}}})`;

function createFront(context: Context): Front {
  return runInContext(FRONT, context, { filename: REALM_FILE_NAME });
}
