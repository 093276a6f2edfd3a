/** How many calls are under way, of one caller and together. */

import type { CallCaller } from "../gate.ts";
import { refuseCall } from "./failure.ts";

export interface InFlightLimits {
  /** Calls of one process, or of one key outside of processes. */
  maxInFlightPerCaller: number;
  maxInFlight: number;
}

/** A place of one call, of its caller's and of all. */
export interface CallPlace extends Disposable {
  /** Gives the place among all up while a person is waited for, which may take hours; the caller's stays taken. */
  leave(): void;
  /** Takes it again, also where none is free. */
  comeBack(): void;
}

export interface InFlight {
  /** Takes a place until it is disposed. Throws CallError `too_many_calls`. */
  enter(caller: CallCaller): CallPlace;
  readonly count: number;
}

export function createInFlight(limits: InFlightLimits): InFlight {
  const byCaller = new Map<string, number>();
  let count = 0;
  return {
    get count() {
      return count;
    },
    enter(caller) {
      const name = nameCaller(caller);
      const own = byCaller.get(name) ?? 0;
      if (own >= limits.maxInFlightPerCaller) {
        throw refuseCall(
          "too_many_calls",
          `${limits.maxInFlightPerCaller} calls of this ${caller.processId === undefined ? "key" : "process"} are under way already. Wait for some of them to end.`,
        );
      }
      if (count >= limits.maxInFlight) {
        throw refuseCall(
          "too_many_calls",
          `${limits.maxInFlight} calls are under way on this server (CYRNEL_MAX_CALLS_IN_FLIGHT). Try again shortly.`,
        );
      }
      count += 1;
      byCaller.set(name, own + 1);
      let isTaken = true;
      let isAway = false;
      return {
        leave() {
          if (!isTaken || isAway) return;
          isAway = true;
          count -= 1;
        },
        comeBack() {
          if (!isTaken || !isAway) return;
          isAway = false;
          count += 1;
        },
        [Symbol.dispose]() {
          if (!isTaken) return;
          isTaken = false;
          if (!isAway) count -= 1;
          const left = (byCaller.get(name) ?? 1) - 1;
          if (left === 0) byCaller.delete(name);
          else byCaller.set(name, left);
        },
      };
    },
  };
}

/** One caller of the limits and of the turns of checks. */
export function nameCaller({ processId, keyId }: CallCaller): string {
  return processId !== undefined ? `process ${processId}` : `key ${keyId ?? ""}`;
}
