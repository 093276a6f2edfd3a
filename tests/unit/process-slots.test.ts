import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createSlots } from "#modules/typescript-process/slots.ts";

const never = new AbortController().signal;

describe("slots", () => {
  test("are given to as many as there are, and to the others in order", async () => {
    const slots = createSlots(2);
    const [a, b] = await Promise.all([slots.acquire(null, never), slots.acquire(null, never)]);
    expect(slots).toMatchObject({ busy: 2, isFull: true });
    const order: string[] = [];
    const waitAs = async (name: string) => {
      const slot = await slots.acquire(null, never);
      order.push(name);
      return slot;
    };
    const third = waitAs("third");
    const fourth = waitAs("fourth");
    await delay(5);
    expect(order).toEqual([]);
    a[Symbol.dispose]();
    a[Symbol.dispose]();
    const c = await third;
    expect([order, slots.busy]).toEqual([["third"], 2]);
    b[Symbol.dispose]();
    c[Symbol.dispose]();
    (await fourth)[Symbol.dispose]();
    expect(slots).toMatchObject({ busy: 0, isFull: false });
  });

  test("are not waited for longer than asked, or when nobody wants them any more", async () => {
    const slots = createSlots(1);
    const held = await slots.acquire(null, never);
    expect((await slots.acquire(10, never)).refused).toBe("expired");
    const stop = new AbortController();
    const waiting = slots.acquire(60_000, stop.signal);
    stop.abort();
    expect((await waiting).refused).toBe("aborted");
    expect((await slots.acquire(null, stop.signal)).refused).toBe("aborted");
    held[Symbol.dispose]();
    expect(slots.busy).toBe(0);
    expect((await slots.acquire(10, never)).refused).toBeUndefined();
  });
});
