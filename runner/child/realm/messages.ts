/**
 * Handles messages from the embedder: `start`, replies, timers, `pause` and `resume`, as JSON text, and the end of a
 * turn. While a run is paused, neither timers nor replies reach the script.
 */
import type { Journal, StartParams } from "../../wire/protocol.ts";
import { countOpenCalls, isCallOpen, listWaiting, settleCall, takeBytesOf } from "./host/calls.ts";
import { importModule } from "./imports.ts";
import {
  advance,
  connectReplay,
  encodeJournal,
  hasHeldReplies,
  holdReply,
  isReplaying,
  startReplay,
  WAKE_TIMER_ID,
  wakeUp,
} from "./journal.ts";
import { type Limits, run } from "./limits.ts";
import { endTurn, fail, type LeftWork, succeed } from "./outcome.ts";
import { parseExact } from "./parse-json.ts";
import {
  JSONParse,
  ObjectFreeze,
  ObjectKeys,
  onSettled,
  own,
  RealmSyntaxError,
  ReflectApply,
} from "./primordials.ts";
import { keepEngineClock, nowMs, seedRandom } from "./replayable.ts";
import { hasEnded, sendPaused, sendTimer, sendWaiting } from "./sending.ts";
import { encodePlace, setMappings } from "./stacks.ts";
import {
  countArmedTimers,
  countAwaitedTimers,
  fireTimer,
  isTimerArmed,
  locateAwaitedTimer,
  startTimers,
  warnOfDropped,
} from "./timers.ts";

let started = false;
let pause: "no" | "due" | "frozen" = "no";
/** Timers that were due while the run was paused. */
let parked: ParkedTimer | null = null;

interface ParkedTimer {
  id: number;
  next: ParkedTimer | null;
}

const LEFT: LeftWork = {
  isOpen: () => countOpenCalls() > 0 || countAwaitedTimers() > 0,
  canContinue: () => countOpenCalls() > 0 || countArmedTimers() > 0,
  warnOfDropped,
};

connectReplay({ reply: settleCall, timer: fireTimer, isTimerArmed, isCallOpen, goLive: startTimers });

/** `main` comes only with `start`: the script's async function, or the message of its syntax error. */
export function receive(text: string, main: unknown): void {
  if (hasEnded()) return;
  try {
    let message = JSONParse(text) as object;
    if (own(message, "exact") === true) message = parseExact(text) as object;
    dispatch(message, main);
  } catch (error) {
    fail(error);
  }
}

/** Requires that no script code is running, no microtask is waiting, and every unhandled rejection was reported. */
export function takeTurn(): void {
  if (!started || pause === "frozen") return;
  endTurn(LEFT);
  if (hasEnded()) return;
  // A replay repeats everything up to an earlier pause before it can pause again.
  if (pause === "due" && !isReplaying()) {
    pause = "frozen";
    sendPaused(encodeJournal());
  } else advance();
}

function dispatch(message: object, main: unknown): void {
  const id = own(message, "id");
  if (typeof id === "number") {
    takeBytesOf(id, message);
    if (isReplaying() || hasHeldReplies() || pause === "frozen") holdReply(id, message);
    else settleCall(id, message);
    return;
  }
  const params = own(message, "params") as object;
  const method = own(message, "method");
  if (method === "start") start(params, main);
  else if (method === "timer") handleTimer(own(params, "id") as number);
  else if (method === "pause" && pause === "no") pause = "due";
  else if (method === "resume") resume();
  else if (method === "waiting") publishWaiting();
}

function publishWaiting(): void {
  let text = listWaiting();
  const timer = text === "" ? locateAwaitedTimer() : undefined;
  if (timer !== undefined) text = encodePlace(0, timer);
  sendWaiting(`[${text}]`);
}

function handleTimer(id: number): void {
  if (pause === "frozen") parked = { id, next: parked };
  else if (id === WAKE_TIMER_ID) wakeUp();
  else if (!isReplaying()) fireTimer(id);
}

function resume(): void {
  pause = "no";
  for (let timer = parked; timer !== null; timer = timer.next) sendTimer(timer.id, 0);
  parked = null;
}

/** Freezes JSON data. The host limits its nesting. */
function freezeData(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const keys = ObjectKeys(value);
  for (let index = 0; index < keys.length; index++) {
    freezeData((value as Record<string, unknown>)[keys[index] as string]);
  }
  return ObjectFreeze(value);
}

function start(params: object, main: unknown): void {
  if (started) return;
  started = true;
  run.limits = own(params, "limits") as Limits;
  const { id, ref } = own(params, "process") as typeof run.process;
  run.process.id = id;
  run.process.ref = ref;
  ObjectFreeze(run.process);
  const exactInput = own(params, "exactInput");
  run.input = freezeData(typeof exactInput === "string" ? parseExact(exactInput) : own(params, "input"));
  run.seed = own(params, "seed") as string;
  run.files = (own(params, "files") ?? []) as NonNullable<StartParams["files"]>;
  seedRandom(own(params, "randomSeed") as number[]);
  setMappings(own(params, "mappings") as string, own(params, "sources") as string[] | undefined);
  if (own(params, "readsWideClocks") === true) {
    const wide = require("./globals/clocks.ts") as typeof import("./globals/clocks.ts");
    keepEngineClock(wide.installWideClocks(nowMs));
  }
  const journal = own(params, "journal");
  if (typeof journal === "object" && journal !== null) startReplay(journal as Journal);
  if (typeof main === "function") {
    onSettled(
      ReflectApply(main as (module: typeof importModule) => unknown, undefined, [
        importModule,
      ]) as Promise<unknown>,
      (value) => succeed(value, LEFT),
      fail,
    );
  } else fail(new RealmSyntaxError(typeof main === "string" ? main : "No script."));
}
