import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createPlaces } from "#runner/host/environment.ts";
import type { Place } from "#runner/host/execution.ts";

const never = new AbortController().signal;

async function acquire(places: ReturnType<typeof createPlaces>): Promise<Place> {
  const place = await places.acquire(null, never);
  if (typeof place === "string") throw new Error(place);
  return place;
}

describe("places", () => {
  test("are given to as many as there are, and to the others in order", async () => {
    const places = createPlaces(2);
    const [a, b] = await Promise.all([acquire(places), acquire(places)]);
    const order: string[] = [];
    const waitAs = async (name: string) => {
      const place = await acquire(places);
      order.push(name);
      return place;
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
    await Promise.all([acquire(places), acquire(places)]);
    expect(await places.acquire(10, never)).toBe("expired");
  });

  test("are not waited for longer than asked, or by a run that was killed", async () => {
    const places = createPlaces(1);
    const held = await acquire(places);
    expect(await places.acquire(10, never)).toBe("expired");
    const stop = new AbortController();
    const waiting = places.acquire(60_000, stop.signal);
    stop.abort();
    expect(await waiting).toBe("aborted");
    expect(await places.acquire(null, stop.signal)).toBe("aborted");
    held.release();
    expect(typeof (await places.acquire(10, never))).toBe("object");
  });

  test("are taken back at once, beyond their number if need be", async () => {
    const places = createPlaces(1);
    const first = await acquire(places);
    first.release();
    const second = await acquire(places);
    first.takeBack();
    first.takeBack();
    second.release();
    expect(await places.acquire(10, never)).toBe("expired");
    first.release();
    await acquire(places);
  });
});
