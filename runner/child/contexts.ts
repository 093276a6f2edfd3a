/**
 * The contexts of the child: the script's, and a third, empty one between it and the host realm. No object, function,
 * promise or error of the host realm is ever handed to the script's.
 */
import { constants, createContext, runInContext, Script } from "node:vm";
import { REALM_FILE_NAME, readRealm } from "./realm-files.ts";
import type { RealmPart } from "./realm-pack.ts";

/** What the realm gives its embedder; see realm/README.md. */
export interface Realm {
  receive(json: string, main?: unknown): void;
  turn(): void;
  reject(reason: unknown): void;
  importError(specifier: string): unknown;
}

export interface ScriptContext {
  realm: Realm;
  /** Evaluates the expression `code` in the script's context. A string is the message of its SyntaxError. */
  compile(code: string): unknown;
  isCacheAccepted: boolean;
}

const NO_CODE_GENERATION = { strings: false, wasm: false };

/** Makes the context a script runs in. `write` gets each message of the realm; it is never reachable from a script. */
export function createScriptContext(
  write: (json: string) => void,
  allow: { eval: boolean; wasm: boolean },
): ScriptContext {
  let realm: Realm | undefined;
  // Rejects with an error of the script's own context: Node's own would be an object of the host realm.
  const importModuleDynamically = (specifier: unknown) => {
    throw realm?.importError(String(specifier));
  };
  const context = createContext(constants.DONT_CONTEXTIFY, {
    codeGeneration: { strings: allow.eval, wasm: allow.wasm },
    importModuleDynamically,
  });
  const { core, libraries } = readRealm();
  const script = compileRealmPart(core);
  // Called while a script runs: what it throws is caught in the script's context before anything of it can be seen.
  const load = (name: string) => compileRealmPart(libraries[name] as RealmPart).runInContext(context);
  const install = script.runInContext(context)(load);
  realm = install(createEmit(write), allow.wasm) as Realm;
  return {
    realm,
    compile(code) {
      let main: Script;
      try {
        main = new Script(code, { filename: "script.ts", importModuleDynamically });
      } catch (error) {
        return String((error as Error).message);
      }
      return main.runInContext(context);
    },
    isCacheAccepted: script.cachedDataRejected === false,
  };
}

/** A code cache made by a Node with other flags is rejected, which only costs time. */
function compileRealmPart({ source, cache }: RealmPart): Script {
  return new Script(source.toString("latin1"), {
    filename: REALM_FILE_NAME,
    ...(cache.length > 0 && { cachedData: cache }),
  });
}

/** A function of the empty context, without prototype: it takes a string, returns nothing and never throws. */
function createEmit(write: (json: string) => void): (json: string) => void {
  const neutral = createContext(constants.DONT_CONTEXTIFY, { codeGeneration: NO_CODE_GENERATION });
  const wrap = runInContext(
    "(write)=>Object.freeze(Object.setPrototypeOf((json)=>{try{if(typeof json==='string')write(json)}catch{}},null))",
    neutral,
  );
  return wrap(write);
}
