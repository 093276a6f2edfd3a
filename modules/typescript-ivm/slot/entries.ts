/**
 * Entries into an isolate. isolated-vm ends each with the first promise that was rejected without a handler, as if
 * the entry had thrown it; this file passes that rejection to the realm.
 */
import type ivm from "isolated-vm";

/** isolated-vm's message for an entry that reached its time limit. */
const TIMED_OUT = "Script execution timed out.";
/** isolated-vm appends paths of this process to stacks that leave an isolate. */
const BORDER = /\n {4}at \(<isolated-vm boundary>\)[\s\S]*$/;
/** isolated-vm's message for a thrown object that is not an Error. */
const UNKNOWN_OBJECT = /^An object was thrown from supplied code within isolated-vm/;

/** `gone`: isolated-vm disposed of the isolate because it ran out of memory. */
export type Entry = "returned" | "timeout" | "gone";

export interface Entries {
  /** Runs the realm's `receive`, and the realm's turn after the microtasks. */
  enter(args: ivm.Transferable[], timeoutMs: number): Entry;
  runTurn(timeoutMs: number): Promise<Entry>;
}

export function createEntries(isolate: ivm.Isolate, context: ivm.Context, realm: ivm.Reference): Entries {
  const member = (name: string) => realm.getSync(name, { reference: true }) as ivm.Reference;
  const receive = member("receive");
  const turn = member("turn");

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

  /** isolated-vm has only a copy of the reason, so the realm gets another one. */
  function handOver({ reason }: Rejection, limit: ivm.RunOptions): void {
    const reject = member("reject");
    if (!(reason instanceof Error)) {
      const shown = typeof reason === "symbol" ? String(reason) : (reason as ivm.Transferable);
      reject.applySync(undefined, [shown], limit);
    } else if (UNKNOWN_OBJECT.test(reason.message)) {
      context.evalClosureSync(REJECT_OBJECT, [reject.derefInto()], limit);
    } else {
      const stack = String(reason.stack ?? "").replace(BORDER, "");
      context.evalClosureSync(REJECT_ERROR, [reject.derefInto(), reason.name, reason.message, stack], limit);
    }
    turn.applySync(undefined, NO_ARGUMENTS, limit);
  }

  return {
    enter(args, timeoutMs) {
      const limit = { timeout: timeoutMs };
      let result = attempt(() => receive.applySync(undefined, args, limit));
      if (typeof result === "object") result = attempt(() => handOver(result as Rejection, limit));
      if (result === "returned") result = attempt(() => turn.applySync(undefined, NO_ARGUMENTS, limit));
      if (typeof result === "object") result = attempt(() => handOver(result as Rejection, limit));
      return settle(result);
    },
    async runTurn(timeoutMs) {
      const limit = { timeout: timeoutMs };
      const result = await turn
        .apply(undefined, NO_ARGUMENTS, limit)
        .then(() => "returned" as const, classify);
      return typeof result === "object" ? settle(attempt(() => handOver(result, limit))) : result;
    },
  };
}

/** If passing on a rejection causes another one, the realm has already ended. */
function settle(result: Entry | Rejection): Entry {
  return typeof result === "object" ? "returned" : result;
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
