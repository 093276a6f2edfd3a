/**
 * Data for a replay: the order in which replies and timers reached the script, and every clock reading. Recorded from
 * the start and sent when the run is paused. A run that exceeds the limits can only be resumed in its process. A
 * replayed run gets everything in the same order, whenever the host sends it, and then continues live.
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

const MAX_EVENTS = 50_000;
const MAX_READINGS = 100_000;
const FIRST_LENGTH = 64;

/** List of numbers in memory where no script can define setters. */
interface NumberLog {
  add(value: number): void;
  /** Returns the JSON text of an array, or null if there were more numbers than the limit. */
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

/** Stops recording, because the run does something that cannot be replayed. */
export function giveUpJournal(): void {
  isComplete = false;
}

/** Records that a reply reached the script. Call ids start at 1. */
export function recordReply(callId: number): void {
  events.add(callId);
}

/** Records that a timer reached the script. Timer ids start at 1. */
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

/** No timer of a script has this id. Firing it delivers a due event and ends a turn. */
export const WAKE_TIMER_ID = 0;

interface Deliveries {
  reply(callId: number, message: object): void;
  timer(timerId: number): void;
  isTimerArmed(timerId: number): boolean;
  isCallOpen(callId: number): boolean;
  goLive(): void;
}

/** Replies that arrived early, in order of arrival. */
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

/** Returns whether the journal decides what reaches the script next. */
export function isReplaying(): boolean {
  return journal !== null;
}

/** Returns the next clock reading, or undefined once the journal has no more. */
export function nextReading(): number | undefined {
  if (journal === null) return undefined;
  if (readingAt < journal.readings.length) return journal.readings[readingAt++];
  diverge("reads the clock more often than before");
  return undefined;
}

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

/** Ends a turn: asks to be woken if an event is due. */
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

/** Returns whether the journal has more events, which means that the original run continued. */
export function wentOn(): boolean {
  return journal !== null && nextEvent(journal) !== undefined;
}

/** Returns whether the script settles before the journal is used up, and if so reports the divergence. */
export function endsEarly(): boolean {
  if (!wentOn()) return false;
  diverge("ends earlier than before");
  return true;
}

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

/** Checks the length first, because a script may have put a value on Array.prototype. */
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

/** Reports a divergence once, and the host ends the run. `what` completes "the script …". */
function diverge(what: string): void {
  if (hasDiverged) return;
  hasDiverged = true;
  sendDiverged(what);
}
