/**
 * One isolate with the realm installed, ready for one script. The only file that touches the library's objects: none
 * of them reaches the script. Inwards go strings and functions of the isolate's own context, outwards strings only.
 */
import type ivm from 'isolated-vm';
import { DISABLE_EVAL } from './disable-eval.ts';
import { addImportFunction } from './import-function.ts';

export type Library = typeof ivm;

const REALM_NAME = 'cyrnel:realm';
const SCRIPT_NAME = 'script.ts';
/** The library's words for an entry that ran into its time limit. */
const TIMED_OUT = 'Script execution timed out.';
/** What the library appends to stacks that cross the border: paths of this process, not for a script. */
const BORDER = /\n {4}at \(<isolated-vm boundary>\)[\s\S]*$/;
/** What the library says of a thrown object that is no Error. */
const UNKNOWN_OBJECT = /^An object was thrown from supplied code within isolated-vm/;
/** Entry limit while the realm itself is set up: trusted code. */
const SETUP_MS = 10_000;

/** What an entry into the isolate came to. `gone`: the isolate was disposed by the library, out of memory. */
export type Entry = 'returned' | 'timeout' | 'gone';

export interface PreparedIsolate {
  readonly memoryMb: number;
  /** Set before the first entry; gets every message of the realm, as text, while an entry is under way. */
  onMessage: (text: string) => void;
  /** Hands `start` to the realm with its compiled code. */
  start(text: string, code: string, timeoutMs: number): Entry;
  /** Hands any other message to the realm. */
  receive(text: string, timeoutMs: number): Entry;
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
  /** False when isolates have to compile the realm from its source: slower, nothing else. */
  readonly hasCodeCache: boolean;
}

/** Compiles the realm once, with what `warmUp` makes of a first isolate, so that later isolates need not compile. */
export function createIsolateFactory(
  library: Library,
  realmSource: string,
  options: IsolateOptions,
  warmUp: (isolate: PreparedIsolate) => void,
): IsolateFactory {
  const source = (options.allowEval ? '' : DISABLE_EVAL) + addImportFunction(realmSource);
  let cachedData: ivm.ExternalCopy<ArrayBuffer> | undefined;

  function prepare(memoryMb: number, use: (isolate: ivm.Isolate) => void = () => {}): PreparedIsolate {
    const isolate = new library.Isolate({ memoryLimit: memoryMb });
    const context = isolate.createContextSync();
    const compileOptions = cachedData === undefined ? {} : { cachedData };
    const script = isolate.compileScriptSync(source, { filename: REALM_NAME, ...compileOptions });
    const install = script.runSync(context, { reference: true, timeout: SETUP_MS }) as ivm.Reference;
    const prepared = enterRealm(library, isolate, context, install, memoryMb, options.allowWasm);
    use(isolate);
    return prepared;
  }

  // The second compilation in the same isolate finds the first one, with every function that has run since.
  let first: ivm.Isolate | undefined;
  const trial = prepare(WARM_UP_MEMORY_MB, (isolate) => {
    first = isolate;
  });
  warmUp(trial);
  const produced = first?.compileScriptSync(source, { filename: REALM_NAME, produceCachedData: true });
  cachedData = (produced as ivm.CachedDataResult | undefined)?.cachedData;
  trial.dispose();

  return {
    prepare: (memoryMb) => prepare(memoryMb),
    hasCodeCache: cachedData !== undefined,
  };
}
const WARM_UP_MEMORY_MB = 64;

function enterRealm(
  library: Library,
  isolate: ivm.Isolate,
  context: ivm.Context,
  install: ivm.Reference,
  memoryMb: number,
  allowWasm: boolean,
): PreparedIsolate {
  const emit = new library.Callback((text: unknown) => {
    // The realm sends strings only; anything else is a fault of the engine and goes no further.
    if (typeof text === 'string') prepared.onMessage(text);
  });
  const realm = install.applySync(undefined, [emit, allowWasm], {
    result: { reference: true },
    timeout: SETUP_MS,
  }) as ivm.Reference<Record<string, unknown>>;
  const receive = realm.getSync('receive', { reference: true }) as ivm.Reference;
  const turn = realm.getSync('turn', { reference: true }) as ivm.Reference;

  /** Runs one entry, and the realm's turn after its microtasks. The realm never throws: what comes out is a rejection. */
  function enter(args: ivm.Transferable[], timeoutMs: number): Entry {
    const limit = { timeout: timeoutMs };
    let result = attempt(() => receive.applySync(undefined, args, limit));
    if (typeof result === 'object') result = attempt(() => handOver(result as Rejection, limit));
    if (result === 'returned') result = attempt(() => turn.applySync(undefined, NO_ARGUMENTS, limit));
    if (typeof result === 'object') result = attempt(() => handOver(result as Rejection, limit));
    // A rejection while a rejection was handed over: the realm has ended already.
    return typeof result === 'object' ? 'returned' : result;
  }

  function attempt(entry: () => unknown): Entry | Rejection {
    try {
      entry();
      return 'returned';
    } catch (error) {
      if (isolate.isDisposed) return 'gone';
      if (error instanceof Error && error.message === TIMED_OUT) return 'timeout';
      return { reason: error };
    }
  }

  /** Gives the realm an unhandled rejection. The library only has a copy of it, so the realm gets one of its own. */
  function handOver({ reason }: Rejection, limit: ivm.RunOptions): void {
    const reject = realm.getSync('reject', { reference: true }) as ivm.Reference;
    if (!(reason instanceof Error)) {
      reject.applySync(undefined, [typeof reason === 'symbol' ? String(reason) : (reason as ivm.Transferable)], limit);
    } else if (UNKNOWN_OBJECT.test(reason.message)) {
      context.evalClosureSync(REJECT_OBJECT, [reject.derefInto()], limit);
    } else {
      const stack = String(reason.stack ?? '').replace(BORDER, '');
      context.evalClosureSync(REJECT_ERROR, [reject.derefInto(), reason.name, reason.message, stack], limit);
    }
    turn.applySync(undefined, NO_ARGUMENTS, limit);
  }

  const prepared: PreparedIsolate = {
    memoryMb,
    onMessage: () => {},
    start(text, code, timeoutMs) {
      let main: ivm.Transferable;
      try {
        const script = isolate.compileScriptSync(code, { filename: SCRIPT_NAME });
        const evaluated = script.runSync(context, { reference: true, timeout: timeoutMs }) as ivm.Reference;
        main = evaluated.derefInto();
      } catch (error) {
        if (isolate.isDisposed) return 'gone';
        main = error instanceof Error ? error.message : String(error);
      }
      return enter([text, main], timeoutMs);
    },
    receive: (text, timeoutMs) => enter([text], timeoutMs),
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
