/**
 * What a replay needs: the order in which replies and timers reached the script, and every reading of the clock.
 * Kept from the start, given out when the run is paused; a run that outgrows the bounds can only be resumed where it is. A
 * repeated run gets all of it in that order, whenever the host sends it, and then goes on live.
 */
import type { Journal } from "../../wire/protocol.ts";
import {
  mapDelete,
  mapGet,
  mapSet,
  RealmFloat64Array,
  RealmMap,
  StringOf,
  setFloat64s,
} from "./primordials.ts";
import { sendDiverged, sendLive, sendTimer } from "./sending.ts";

/** Deliveries to a script that are kept: replies and timers. */
const MAX_EVENTS = 50_000;
/** Readings of the clock that are kept. */
const MAX_READINGS = 100_000;
const FIRST_LENGTH = 64;

/** Numbers in order, in memory no script can put setters on. */
interface NumberLog {
  add(value: number): void;
  /** JSON text of an array; null when there were more than it keeps. */
  encode(): string | null;
}

function createNumberLog(maxLength: number): NumberLog {
  let values: Float64Array | null = null;
  let length = 0;
  return {
    add(value) {
      if (length >= maxLength) {
        length = maxLength + 1;
        return;
      }
      if (values === null) values = new RealmFloat64Array(FIRST_LENGTH);
      else if (length === values.length) {
        const grown = new RealmFloat64Array(length * 2);
        setFloat64s(grown, values);
        values = grown;
      }
      values[length++] = value;
    },
    encode() {
      if (length > maxLength) return null;
      let text = "[";
      for (let index = 0; index < length; index++) {
        text += (index === 0 ? "" : ",") + StringOf((values as Float64Array)[index]);
      }
      return `${text}]`;
    },
  };
}

const events = createNumberLog(MAX_EVENTS);
const readings = createNumberLog(MAX_READINGS);
let isComplete = true;

/** Something happens in this run that no journal can hold. */
export function giveUpJournal(): void {
  isComplete = false;
}

/** A reply reached the script: the call's id, from 1. */
export function recordReply(callId: number): void {
  events.add(callId);
}

/** A timer reached the script: its id, from 1. */
export function recordTimer(timerId: number): void {
  events.add(-timerId);
}

export function recordReading(ms: number): void {
  readings.add(ms);
}

/** Returns JSON text, or `null` if the run cannot be replayed. */
export function encodeJournal(): string {
  const eventsText = events.encode();
  const readingsText = readings.encode();
  if (!isComplete || eventsText === null || readingsText === null) return "null";
  return `{"events":${eventsText},"readings":${readingsText}}`;
}

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

/** Whether the journal has more that reached the script: then the run went on. */
export function wentOn(): boolean {
  return journal !== null && nextEvent(journal) !== undefined;
}

/** Whether the script settles before the journal is used up; if so, it is told. */
export function endsEarly(): boolean {
  if (!wentOn()) return false;
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
