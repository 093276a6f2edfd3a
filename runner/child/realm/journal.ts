/**
 * What a run would have to be told to run again just as it did: the order in which replies and timers reached the
 * script, and every reading of the clock. Kept from the start, given out when the run is paused. Bounded: a run that
 * outgrows it goes on, and can only be resumed where it is.
 */
import { RealmFloat64Array, StringOf, setFloat64s } from "./primordials.ts";

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
export function noteReply(callId: number): void {
  events.add(callId);
}

/** A timer reached the script: its id, from 1. */
export function noteTimer(timerId: number): void {
  events.add(-timerId);
}

export function noteReading(ms: number): void {
  readings.add(ms);
}

/** JSON text; `null` when the run cannot be repeated from it. */
export function encodeJournal(): string {
  const eventsText = events.encode();
  const readingsText = readings.encode();
  if (!isComplete || eventsText === null || readingsText === null) return "null";
  return `{"events":${eventsText},"readings":${readingsText}}`;
}
