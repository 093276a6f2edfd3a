/**
 * The script's context, and the two functions of it that stand between its realm and the host's. No object, function,
 * promise or error of the host realm is within reach of a script.
 */
import { type Context, constants, createContext, runInContext, Script } from "node:vm";
import type { RealmPack, RealmPart } from "./realm-pack.ts";

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

/** The name the realm's scripts are compiled under; never shown in stacks of a script. */
const REALM_FILE_NAME = "cyrnel:realm";

/** Makes the context a script runs in. `write` gets each message of the realm; it is never reachable from a script. */
export function createScriptContext(
  { core, libraries }: Pick<RealmPack, "core" | "libraries">,
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
  const script = compileRealmPart(core);
  const guard = createGuard(context);
  const load = guard((name) => compileRealmPart(libraries[name] as RealmPart).runInContext(context));
  const install = script.runInContext(context)(load);
  realm = install(guard(write), allow.wasm) as Realm;
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

/**
 * Puts functions of the script's context, frozen and without prototype, in front of functions of the host realm: they
 * take a string, pass on what is returned, and answer undefined instead of throwing. They stay in closures of the realm;
 * even one that leaked would lead to no object of the host, since what they call is out of anyone's reach.
 */
function createGuard(context: Context): (target: (text: string) => unknown) => (text: string) => undefined {
  return runInContext(
    "'use strict';(target)=>Object.freeze(Object.setPrototypeOf((text)=>{try{if(typeof text==='string')return target(text)}catch{}},null))",
    context,
  );
}
