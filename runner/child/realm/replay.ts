/**
 * Running again what a run did before: replies and timers are given to the script in the order of its journal, whenever
 * the host sends them, and the clock answers what it answered then. When the journal is used up, the run goes on live.
 */
import type { Journal } from "../../wire/protocol.ts";
import { sendDiverged, sendLive, sendTimer } from "./frames.ts";
import { mapDelete, mapGet, mapSet, RealmMap, StringOf } from "./primordials.ts";

/** No timer of a script has this id: firing it delivers what is due here, and brings the end of a turn. */
export const WAKE_TIMER_ID = 0;

/** What is done with what is due. */
interface Deliveries {
  reply(callId: number, message: object): void;
  timer(timerId: number): void;
  isTimerArmed(timerId: number): boolean;
  isCallOpen(callId: number): boolean;
  /** The journal is used up. */
  goLive(): void;
}

/** Replies that came before their turn, in the order they came. */
interface Held {
  id: number;
  next: Held | null;
}

let journal: Journal | null = null;
let eventAt = 0;
let readingAt = 0;
let isWakeDue = false;
let hasDiverged = false;
let deliveries: Deliveries;
const messages = new RealmMap<number, object>();
let oldest: Held | null = null;
let newest: Held | null = null;

export function connectReplay(handlers: Deliveries): void {
  deliveries = handlers;
}

export function startReplay(from: Journal): void {
  journal = from;
}

/** Whether the order of things is that of a journal: nothing else may reach the script. */
export function isReplaying(): boolean {
  return journal !== null;
}

/** The clock's next answer; undefined once the journal has no more. */
export function nextReading(): number | undefined {
  if (journal === null) return undefined;
  if (readingAt < journal.readings.length) return journal.readings[readingAt++];
  diverge("reads the clock more often than before");
  return undefined;
}

/** Keeps a reply until it is due. */
export function holdReply(id: number, message: object): void {
  mapSet(messages, id, message);
  const held = { id, next: null };
  if (newest === null) oldest = held;
  else newest.next = held;
  newest = held;
}

export function hasHeldReplies(): boolean {
  return oldest !== null;
}

/** The end of a turn: asks to be woken when something is due. */
export function advance(): void {
  if (hasDiverged) return;
  if (journal === null) {
    if (oldest !== null) wake();
    return;
  }
  const event = nextEvent(journal);
  if (event === undefined) {
    if (readingAt < journal.readings.length) {
      diverge("reads the clock less often than before");
      return;
    }
    journal = null;
    sendLive();
    deliveries.goLive();
    if (oldest !== null) wake();
  } else if (event < 0) {
    if (deliveries.isTimerArmed(-event)) wake();
    else diverge(`has not set timer ${StringOf(-event)}, which fired before`);
  } else if (mapGet(messages, event) !== undefined) wake();
  else if (!deliveries.isCallOpen(event))
    diverge(`has not made call ${StringOf(event)}, which was answered before`);
}

/** Whether the script settles before the journal is used up; if so, it is told. */
export function endsEarly(): boolean {
  if (journal === null || nextEvent(journal) === undefined) return false;
  diverge("ends earlier than before");
  return true;
}

/** Delivers one thing. */
export function wakeUp(): void {
  isWakeDue = false;
  if (hasDiverged) return;
  const event = journal === null ? undefined : nextEvent(journal);
  if (event !== undefined) {
    eventAt++;
    if (event < 0) deliveries.timer(-event);
    else deliverHeld(event);
  } else if (oldest !== null) deliverHeld(oldest.id);
}

function wake(): void {
  if (isWakeDue) return;
  isWakeDue = true;
  sendTimer(WAKE_TIMER_ID, 0);
}

/** By its length: a script may have put something behind the end of every array. */
function nextEvent({ events }: Journal): number | undefined {
  return eventAt < events.length ? events[eventAt] : undefined;
}

function deliverHeld(id: number): void {
  const message = mapGet(messages, id) as object;
  mapDelete(messages, id);
  let before: Held | null = null;
  for (let held = oldest; held !== null; before = held, held = held.next) {
    if (held.id !== id) continue;
    if (before === null) oldest = held.next;
    else before.next = held.next;
    if (held.next === null) newest = before;
    break;
  }
  deliveries.reply(id, message);
}

/** Told once; the host then ends the run. `what` completes "the script …". */
function diverge(what: string): void {
  if (hasDiverged) return;
  hasDiverged = true;
  sendDiverged(what);
}
