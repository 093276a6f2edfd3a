/**
 * Capacity shared by all keys. The last part is reserved for keys that use little: a key may use at most half of what
 * is free there, so the next key always finds some. A single key may use everything except that part.
 */

/** Requests without keys share one entry, so nothing is reserved for others. */
const NO_KEY = "anonymous";
/** Reserves a tenth of the queue and of the spools' disk space. */
export const KEPT_DIVISOR = 10;

/** Why a request is rejected: all capacity is in use, or this key's share. */
export type RoomRefusal = "all" | "share";

export interface RoomUse {
  key: string;
  max: number;
  kept: number;
  used: number;
  held: number;
}

/** Returns why `amount` more is rejected, or null. A key that uses nothing gets whatever is free. */
export function findRefusal({ key, max, kept, used, held }: RoomUse, amount: number): RoomRefusal | null {
  if (used + amount > max) return "all";
  if (used + amount <= max - kept || held === 0 || key === NO_KEY) return null;
  return held + amount <= (max - used) / 2 ? null : "share";
}

export interface SharedRoom {
  readonly used: number;
  readonly max: number;
  heldBy(key: string): number;
  /** Takes the amount, or returns why not. Give back what was taken. */
  take(key: string, amount: number): RoomRefusal | null;
  give(key: string, amount: number): void;
}

/** Tracks only keys that use something. */
export function createSharedRoom(max: number, kept: number): SharedRoom {
  const held = new Map<string, number>();
  let used = 0;
  function add(key: string, amount: number): void {
    used += amount;
    const holds = (held.get(key) ?? 0) + amount;
    if (holds > 0) held.set(key, holds);
    else held.delete(key);
  }
  return {
    max,
    get used() {
      return used;
    },
    heldBy: (key) => held.get(key) ?? 0,
    take(key, amount) {
      const refusal = findRefusal({ key, max, kept, used, held: held.get(key) ?? 0 }, amount);
      if (refusal === null) add(key, amount);
      return refusal;
    },
    give: (key, amount) => add(key, -amount),
  };
}
