/**
 * One isolate with the realm installed, ready for one script. The only file that touches the library's objects: none
 * of them reaches the script. Inwards go strings and functions of the isolate's own context, outwards strings only.
 */
import type ivm from "isolated-vm";
import { openPackage } from "#runner/child/packages.ts";
import type { PackageParts } from "#runner/wire/frames.ts";
import { makePrelude, type RealmSource } from "./prelude.ts";

export type Library = typeof ivm;

const REALM_NAME = "cyrnel:realm";
const SCRIPT_NAME = "script.ts";
/** The library's words for an entry that ran into its time limit. */
const TIMED_OUT = "Script execution timed out.";
/** What the library appends to stacks that cross the border: paths of this process, not for a script. */
const BORDER = /\n {4}at \(<isolated-vm boundary>\)[\s\S]*$/;
/** What the library says of a thrown object that is no Error. */
const UNKNOWN_OBJECT = /^An object was thrown from supplied code within isolated-vm/;
/** Entry limit while the realm itself is set up: trusted code. */
const SETUP_MS = 10_000;

/** What an entry into the isolate came to. `gone`: the isolate was disposed by the library, out of memory. */
export type Entry = "returned" | "timeout" | "gone";

export interface PreparedIsolate {
  readonly memoryMb: number;
  /** Set before the first entry; gets every message of the realm, as text, while an entry is under way. Answers a reply's text. */
  onMessage: (text: string) => string | undefined;
  /** Packages the script may import, by their digests; before `start`. */
  givePackages(packages: ReadonlyMap<string, PackageParts>): void;
  /** Code caches of the packages that were compiled, with all that has run of them by now. */
  makeCodeCaches(): { digest: string; data: Buffer }[];
  /** Hands `start` to the realm with its compiled code. */
  start(text: string, code: string, timeoutMs: number): Entry;
  /** Hands any other message to the realm. */
  receive(text: string, timeoutMs: number): Entry;
  /**
   * Lets V8 go on with what it does beside the script, such as compiling WebAssembly, and takes a turn of the realm. On
   * a thread of the library: until it resolves nothing else may enter, or both threads wait for each other.
   */
  runTasks(timeoutMs: number): Promise<Entry>;
  /** Heap and buffers in use now, in bytes; 0 if the isolate is gone. */
  measureMemory(): number;
  dispose(): void;
}

export interface IsolateOptions {
  allowEval: boolean;
  allowWasm: boolean;
}

export interface IsolateFactory {
  prepare(memoryMb: number): PreparedIsolate;
  /**
   * Compiles what isolates have asked for and there is no code cache of yet; to be called when nothing runs. Code caches
   * are only ever made in an isolate that has seen no script.
   */
  fillCodeCaches(): void;
  /** False when isolates have to compile the realm from its source: slower, nothing else. */
  readonly hasCodeCache: boolean;
}

/** A script that is compiled in many isolates. */
interface SharedScript {
  source: string;
  filename: string;
  cachedData?: ivm.ExternalCopy<ArrayBuffer>;
}

/** An isolate that is being set up, for making code caches. */
interface Trial {
  isolate: ivm.Isolate;
  prepared: PreparedIsolate;
}

/**
 * Makes isolates. `exercise` runs a script in one: what it calls is compiled then, kept, and need not be compiled in
 * later isolates. `libraries`: whether that script is to use the realm's libraries as well.
 */
export function createIsolateFactory(
  library: Library,
  realm: RealmSource,
  options: IsolateOptions,
  exercise: (isolate: PreparedIsolate, libraries: boolean) => void,
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

  /** The second compilation in the same isolate finds the first one, with every function that has run since. */
  function keepCode(isolate: ivm.Isolate, script: SharedScript): void {
    const { source, filename } = script;
    const compiled = isolate.compileScriptSync(source, { filename, produceCachedData: true });
    const { cachedData } = compiled as ivm.CachedDataResult;
    if (cachedData !== undefined) script.cachedData = cachedData;
  }

  const first = prepare(TRIAL_MEMORY_MB);
  exercise(first.prepared, false);
  keepCode(first.isolate, prelude);
  first.prepared.dispose();
  isLibraryMissing = false;

  return {
    prepare: (memoryMb) => prepare(memoryMb).prepared,
    fillCodeCaches() {
      if (!isLibraryMissing) return;
      const trial = prepare(TRIAL_MEMORY_MB);
      exercise(trial.prepared, true);
      for (const script of libraries.values()) keepCode(trial.isolate, script);
      trial.prepared.dispose();
      isLibraryMissing = false;
    },
    hasCodeCache: prelude.cachedData !== undefined,
  };
}
const TRIAL_MEMORY_MB = 64;

/** Runs trusted code and answers a reference to its value, a function. */
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
    // The realm sends strings only; anything else is a fault of the engine and goes no further.
    return typeof text === "string" ? prepared.onMessage(text) : undefined;
  });
  // Called while the script is on the stack, in the same thread: what it enters is nested in that entry.
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
  const realm = member(installed, "realm");
  const receive = member(realm, "receive");
  const turn = member(realm, "turn");

  /** Answers texts; a function is provided instead. Never throws: what is thrown here would be copied into the isolate. */
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

  function parse(source: string): void {
    isolate.compileScriptSync(source).release();
  }

  function compile(digest: string, source: string, filename: string, cache: Buffer | null) {
    const cachedData = cache && new library.ExternalCopy(toArrayBuffer(cache));
    const script = isolate.compileScriptSync(source, { filename, ...(cachedData && { cachedData }) });
    compiled.set(digest, { source, filename });
    return {
      isCached: cache !== null && (script as { cachedDataRejected?: boolean }).cachedDataRejected !== true,
      evaluate: () => script.runSync(context, { reference: true, timeout: SETUP_MS }),
    };
  }

  /** Runs one entry, and the realm's turn after its microtasks. The realm never throws: what comes out is a rejection. */
  function enter(args: ivm.Transferable[], timeoutMs: number): Entry {
    const limit = { timeout: timeoutMs };
    let result = attempt(() => receive.applySync(undefined, args, limit));
    if (typeof result === "object") result = attempt(() => handOver(result as Rejection, limit));
    if (result === "returned") result = attempt(() => turn.applySync(undefined, NO_ARGUMENTS, limit));
    if (typeof result === "object") result = attempt(() => handOver(result as Rejection, limit));
    return settle(result);
  }

  function attempt(entry: () => unknown): Entry | Rejection {
    try {
      entry();
      return "returned";
    } catch (error) {
      return classify(error);
    }
  }

  function classify(error: unknown): Entry | Rejection {
    if (isolate.isDisposed) return "gone";
    if (error instanceof Error && error.message === TIMED_OUT) return "timeout";
    return { reason: error };
  }

  /** A rejection while a rejection was handed over: the realm has ended already. */
  function settle(result: Entry | Rejection): Entry {
    return typeof result === "object" ? "returned" : result;
  }

  /** Gives the realm an unhandled rejection. The library only has a copy of it, so the realm gets one of its own. */
  function handOver({ reason }: Rejection, limit: ivm.RunOptions): void {
    const reject = member(realm, "reject");
    if (!(reason instanceof Error)) {
      reject.applySync(
        undefined,
        [typeof reason === "symbol" ? String(reason) : (reason as ivm.Transferable)],
        limit,
      );
    } else if (UNKNOWN_OBJECT.test(reason.message)) {
      context.evalClosureSync(REJECT_OBJECT, [reject.derefInto()], limit);
    } else {
      const stack = String(reason.stack ?? "").replace(BORDER, "");
      context.evalClosureSync(REJECT_ERROR, [reject.derefInto(), reason.name, reason.message, stack], limit);
    }
    turn.applySync(undefined, NO_ARGUMENTS, limit);
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
        // The second compilation in the same isolate finds the first one.
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
    async runTasks(timeoutMs) {
      const limit = { timeout: timeoutMs };
      const result = await turn
        .apply(undefined, NO_ARGUMENTS, limit)
        .then(() => "returned" as const, classify);
      return typeof result === "object" ? settle(attempt(() => handOver(result, limit))) : result;
    },
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

interface Rejection {
  reason: unknown;
}

const NO_ARGUMENTS: ivm.Transferable[] = [];

const REJECT_ERROR = `
const error = new Error($2);
Object.defineProperty(error, 'name', { value: $1, configurable: true, writable: true });
Object.defineProperty(error, 'stack', { value: $3, configurable: true, writable: true });
$0(error);
`;
const REJECT_OBJECT = '$0("The script rejected a promise with an object instead of an Error.");';
