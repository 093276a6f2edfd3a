/** What the embedder tells the realm: `start`, replies and timers, as JSON text; and the end of a turn. */

import { hasEnded } from "./frames.ts";
import { countOpenCalls, settleCall } from "./host/calls.ts";
import { type Limits, run } from "./limits.ts";
import { endTurn, fail, succeed } from "./outcome.ts";
import { JSONParse, ObjectFreeze, onSettled, own, RealmSyntaxError, ReflectApply } from "./primordials.ts";
import { setMappings } from "./stacks.ts";
import { countArmedTimers, fireTimer } from "./timers.ts";

let started = false;

/** `main` only with `start`: the script's async function, or the message of the error compiling it gave. */
export function receive(text: string, main: unknown): void {
  if (hasEnded()) return;
  try {
    dispatch(JSONParse(text) as object, main);
  } catch (error) {
    fail(error);
  }
}

/** Nothing of the script is running, no microtask is waiting, every unhandled rejection was handed over. */
export function takeTurn(): void {
  if (started) endTurn(countOpenCalls() > 0 || countArmedTimers() > 0);
}

function dispatch(message: object, main: unknown): void {
  const id = own(message, "id");
  if (typeof id === "number") {
    settleCall(id, message);
    return;
  }
  const params = own(message, "params") as object;
  const method = own(message, "method");
  if (method === "start") start(params, main);
  else if (method === "timer") fireTimer(own(params, "id") as number);
}

function start(params: object, main: unknown): void {
  if (started) return;
  started = true;
  run.limits = own(params, "limits") as Limits;
  const { id, ref } = own(params, "process") as typeof run.process;
  run.process.id = id;
  run.process.ref = ref;
  ObjectFreeze(run.process);
  run.seed = own(params, "seed") as string;
  setMappings(own(params, "mappings") as string);
  if (typeof main === "function") {
    onSettled(ReflectApply(main as () => unknown, undefined, []) as Promise<unknown>, succeed, fail);
  } else fail(new RealmSyntaxError(typeof main === "string" ? main : "No script."));
}
