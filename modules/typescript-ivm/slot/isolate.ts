/**
 * Isolates with the realm installed, each ready for one script. isolated-vm objects stay in this file and entries.ts:
 * the isolate gets strings and functions of its own context, and returns strings only.
 */
import type ivm from "isolated-vm";
import { openPackage } from "#runner/child/packages.ts";
import type { PackageParts } from "#runner/wire/frames.ts";
import { createEntries, type Entry } from "./entries.ts";
import { makePrelude, type RealmSource } from "./prelude.ts";

export type Library = typeof ivm;

const REALM_NAME = "cyrnel:realm";
const SCRIPT_NAME = "script.ts";
/** Time limit for setting up the realm itself, which is trusted code. */
const SETUP_MS = 10_000;

export interface PreparedIsolate {
  readonly memoryMb: number;
  /** Called with every realm message during an entry; returns the text of a reply. Set it before the first entry. */
  onMessage: (text: string) => string | undefined;
  /** Sets the packages the script may import, by digest. Call it before `start`. */
  givePackages(packages: ReadonlyMap<string, PackageParts>): void;
  /** The code caches contain the functions that have run so far. */
  makeCodeCaches(): { digest: string; data: Buffer }[];
  start(text: string, code: string, timeoutMs: number): Entry;
  receive(text: string, timeoutMs: number): Entry;
  /**
   * Lets V8 finish background work such as compiling WebAssembly, and runs a turn of the realm. Runs on a library
   * thread: until it resolves nothing else may enter, or both threads wait for each other.
   */
  runTasks(timeoutMs: number): Promise<Entry>;
  /** Returns the number of heap and buffer bytes in use, or 0 if the isolate is disposed. */
  measureMemory(): number;
  dispose(): void;
}

export interface IsolateOptions {
  allowEval: boolean;
  allowWasm: boolean;
}

export interface IsolateFactory {
  prepare(memoryMb: number): PreparedIsolate;
  fillCodeCaches(): void;
  /** False if isolates compile the realm from its source, which is slower. */
  readonly hasCodeCache: boolean;
}

interface SharedScript {
  source: string;
  filename: string;
  cachedData?: ivm.ExternalCopy<ArrayBuffer>;
}

interface Trial {
  isolate: ivm.Isolate;
  prepared: PreparedIsolate;
}

/**
 * `warmUp` runs a script in an isolate, with the realm's libraries if requested, so that later isolates need not
 * compile the functions it called.
 */
export function createIsolateFactory(
  library: Library,
  realm: RealmSource,
  options: IsolateOptions,
  warmUp: (isolate: PreparedIsolate, libraries: boolean) => void,
): IsolateFactory {
  // A library cannot be loaded from the thread that WebAssembly needs: the main thread would wait for it forever.
  const preludeOptions = { allowEval: options.allowEval, inlineLibraries: options.allowWasm };
  const prelude: SharedScript = { source: makePrelude(realm, preludeOptions), filename: REALM_NAME };
  const libraries = new Map<string, SharedScript>();
  for (const [name, source] of Object.entries(realm.libraries)) {
    libraries.set(name, { source, filename: `${REALM_NAME}/${name}` });
  }
  let isLibraryMissing = false;

  function prepare(memoryMb: number): Trial {
    const isolate = new library.Isolate({ memoryLimit: memoryMb });
    const context = isolate.createContextSync();
    const install = evaluate(isolate, context, prelude);
    const load = (name: unknown) => {
      const script = libraries.get(String(name));
      if (script === undefined) throw new Error("no such library");
      isLibraryMissing ||= script.cachedData === undefined;
      return evaluate(isolate, context, script);
    };
    const prepared = enterRealm(library, isolate, context, install, load, memoryMb, options.allowWasm);
    return { isolate, prepared };
  }

  /** Compiling again in the same isolate returns the first result, with every function that has run since. */
  function keepCode(isolate: ivm.Isolate, script: SharedScript): void {
    const { source, filename } = script;
    const compiled = isolate.compileScriptSync(source, { filename, produceCachedData: true });
    const { cachedData } = compiled as ivm.CachedDataResult;
    if (cachedData !== undefined) script.cachedData = cachedData;
  }

  const first = prepare(TRIAL_MEMORY_MB);
  warmUp(first.prepared, false);
  keepCode(first.isolate, prelude);
  first.prepared.dispose();
  isLibraryMissing = false;

  return {
    prepare: (memoryMb) => prepare(memoryMb).prepared,
    fillCodeCaches() {
      if (!isLibraryMissing) return;
      const trial = prepare(TRIAL_MEMORY_MB);
      warmUp(trial.prepared, true);
      for (const script of libraries.values()) keepCode(trial.isolate, script);
      trial.prepared.dispose();
      isLibraryMissing = false;
    },
    hasCodeCache: prelude.cachedData !== undefined,
  };
}
const TRIAL_MEMORY_MB = 64;

function evaluate(isolate: ivm.Isolate, context: ivm.Context, script: SharedScript): ivm.Reference {
  const { source, filename, cachedData } = script;
  const compiled = isolate.compileScriptSync(source, { filename, ...(cachedData && { cachedData }) });
  return compiled.runSync(context, { reference: true, timeout: SETUP_MS }) as ivm.Reference;
}

function enterRealm(
  library: Library,
  isolate: ivm.Isolate,
  context: ivm.Context,
  install: ivm.Reference,
  loadLibrary: (name: unknown) => ivm.Reference,
  memoryMb: number,
  allowWasm: boolean,
): PreparedIsolate {
  const emit = new library.Callback((text: unknown) => {
    // The realm sends strings only; anything else is an engine fault and is dropped.
    return typeof text === "string" ? prepared.onMessage(text) : undefined;
  });
  // Called on the same thread while the script is on the stack, so its entries are nested in the script's.
  const load = new library.Callback((name: unknown) => {
    member(installed, "provide").applySync(undefined, [loadLibrary(name).derefInto()], { timeout: SETUP_MS });
  });
  let packages: ReadonlyMap<string, PackageParts> = new Map();
  const compiled = new Map<string, { source: string; filename: string }>();
  const open = new library.Callback((text: unknown) => answerOpen(String(text)));
  const installed = install.applySync(undefined, [emit, load, allowWasm, open], {
    result: { reference: true },
    timeout: SETUP_MS,
  }) as ivm.Reference;
  const member = (of: ivm.Reference, name: string) => of.getSync(name, { reference: true }) as ivm.Reference;
  const { enter, runTurn } = createEntries(isolate, context, member(installed, "realm"));

  /** Returns a text, or provides a function. Never throws: the error would be copied into the isolate. */
  function answerOpen(text: string): string | undefined {
    try {
      const answer = openPackage(packages, text, { parse, compile });
      if (typeof answer === "string") return answer;
      const value = (answer as ivm.Reference).derefInto();
      member(installed, "provideOpened").applySync(undefined, [text, value], { timeout: SETUP_MS });
      return undefined;
    } catch {
      return "it could not be compiled";
    }
  }

  const parse = (source: string) => isolate.compileScriptSync(source).release();

  function compile(digest: string, source: string, filename: string, cache: Buffer | null) {
    const cachedData = cache && new library.ExternalCopy(toArrayBuffer(cache));
    const script = isolate.compileScriptSync(source, { filename, ...(cachedData && { cachedData }) });
    compiled.set(digest, { source, filename });
    return {
      isCached: cache !== null && (script as { cachedDataRejected?: boolean }).cachedDataRejected !== true,
      evaluate: () => script.runSync(context, { reference: true, timeout: SETUP_MS }),
    };
  }

  const prepared: PreparedIsolate = {
    memoryMb,
    onMessage: () => undefined,
    givePackages(given) {
      packages = given;
      // Nothing can be compiled from the thread that WebAssembly needs: see createIsolateFactory.
      for (const digest of allowWasm ? given.keys() : []) {
        for (const text of [`code ${digest}`, `mappings ${digest}`]) {
          const answer = answerOpen(text);
          if (answer === undefined) continue;
          member(installed, "provideOpened").applySync(undefined, [text, answer], { timeout: SETUP_MS });
        }
      }
    },
    makeCodeCaches: () =>
      [...compiled].flatMap(([digest, { source, filename }]) => {
        const again = isolate.compileScriptSync(source, { filename, produceCachedData: true });
        const { cachedData } = again as ivm.CachedDataResult;
        return cachedData === undefined ? [] : [{ digest, data: Buffer.from(cachedData.copy()) }];
      }),
    start(text, code, timeoutMs) {
      let main: ivm.Transferable;
      try {
        const script = isolate.compileScriptSync(code, { filename: SCRIPT_NAME });
        const evaluated = script.runSync(context, { reference: true, timeout: timeoutMs }) as ivm.Reference;
        main = evaluated.derefInto();
      } catch (error) {
        if (isolate.isDisposed) return "gone";
        main = error instanceof Error ? error.message : String(error);
      }
      return enter([text, main], timeoutMs);
    },
    receive: (text, timeoutMs) => enter([text], timeoutMs),
    runTasks: runTurn,
    measureMemory() {
      if (isolate.isDisposed) return 0;
      const heap = isolate.getHeapStatisticsSync();
      return heap.total_heap_size + heap.externally_allocated_size;
    },
    dispose() {
      if (!isolate.isDisposed) isolate.dispose();
    },
  };
  return prepared;
}

function toArrayBuffer(bytes: Buffer): ArrayBuffer {
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer;
}
