/**
 * Room that all keys share. The last part of it is kept for keys that hold little: there a key may hold no more than half of
 * what is free, so whoever comes next always finds some. A key that is alone may use everything but that part.
 */

/** Without keys there is nobody to keep room for. */
const NO_KEY = "anonymous";
/** A tenth of the queue and of the spools' disk is kept. */
export const KEPT_DIVISOR = 10;

/** What stops a request: all of the room is taken, or this key's share of it. */
export type RoomRefusal = "all" | "share";

export interface RoomUse {
  key: string;
  max: number;
  /** The size of the last part. */
  kept: number;
  used: number;
  /** What the key holds of it. */
  held: number;
}

/** Returns why `amount` more is refused, or null. A key that holds nothing gets whatever is free. */
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

/** Remembers only the keys that hold something. */
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
