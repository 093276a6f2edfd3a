import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createSlotPool, type Slot } from "#runner/host/slots.ts";

const never = new AbortController().signal;

async function acquire(slots: ReturnType<typeof createSlotPool>): Promise<Slot> {
  const slot = await slots.acquire(null, never);
  if (typeof slot === "string") throw new Error(slot);
  return slot;
}

describe("slots", () => {
  test("are given to as many as there are, and to the others in order", async () => {
    const slots = createSlotPool(2);
    const [a, b] = await Promise.all([acquire(slots), acquire(slots)]);
    const order: string[] = [];
    const waitAs = async (name: string) => {
      const slot = await acquire(slots);
      order.push(name);
      return slot;
    };
    const third = waitAs("third");
    const fourth = waitAs("fourth");
    await delay(5);
    expect(order).toEqual([]);
    a.release();
    a.release();
    const c = await third;
    await delay(5);
    expect(order).toEqual(["third"]);
    b.release();
    c.release();
    (await fourth).release();
    await Promise.all([acquire(slots), acquire(slots)]);
    expect(await slots.acquire(10, never)).toBe("expired");
  });

  test("are not waited for longer than asked, or by a run that was killed", async () => {
    const slots = createSlotPool(1);
    const held = await acquire(slots);
    expect(await slots.acquire(10, never)).toBe("expired");
    const stop = new AbortController();
    const waiting = slots.acquire(60_000, stop.signal);
    stop.abort();
    expect(await waiting).toBe("aborted");
    expect(await slots.acquire(null, stop.signal)).toBe("aborted");
    held.release();
    expect(typeof (await slots.acquire(10, never))).toBe("object");
  });

  test("are taken back at once, beyond their number if need be", async () => {
    const slots = createSlotPool(1);
    const first = await acquire(slots);
    first.release();
    const second = await acquire(slots);
    first.takeBack();
    first.takeBack();
    second.release();
    expect(await slots.acquire(10, never)).toBe("expired");
    first.release();
    await acquire(slots);
  });
});
