/**
 * Room shared by all keys. The last part is kept for keys that hold little: in it a key may hold at most half of what
 * is free, so the next key always finds some. A single key may use everything except that part.
 */

/** Requests without keys share one entry, so no room is kept for others. */
const NO_KEY = "anonymous";
/** Keeps a tenth of the queue and of the spools' disk. */
export const KEPT_DIVISOR = 10;

/** Why a request is refused: all room is taken, or this key's share. */
export type RoomRefusal = "all" | "share";

export interface RoomUse {
  key: string;
  max: number;
  kept: number;
  used: number;
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

/** Remembers only keys that hold something. */
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
