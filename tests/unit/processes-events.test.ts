import fc from "fast-check";
import { expect, test } from "vitest";
import { ChangeWaiter, ProcessFeed } from "#api/processes/live/registry.ts";
import { type EventPosition, formatEventId, parseEventId } from "#api/processes/operations/events.ts";

const count = fc.integer({ min: 0, max: 9_999_999_999 });
const position: fc.Arbitrary<EventPosition> = fc.record({
  run: fc.stringMatching(/^[0-9a-f]{8}$/),
  state: fc.constantFrom("none", "queued", "running", "paused", "terminating", "idle", "ended"),
  stdout: count,
  stderr: count,
  outputs: count,
  calls: count,
  approvals: count,
  artifacts: fc.integer({ min: 0, max: 1000 }),
});

test("an event id is the position, and nothing else is an event id", () => {
  fc.assert(
    fc.property(position, (value) => {
      expect(parseEventId(formatEventId(value))).toEqual(value);
    }),
  );
  fc.assert(
    fc.property(fc.string(), (text) => {
      const parsed = parseEventId(text);
      if (parsed) expect(formatEventId(parsed)).toBe(text);
    }),
  );
  for (const id of [
    "",
    "1",
    "x",
    "3f2a91bc.r.120.0.1",
    "3f2a91bc.z.1.0.1.3",
    "3f2a91bc.r.-1.0.1.3",
    "3F2A91BC.r.1.0.1.3",
  ]) {
    expect(parseEventId(id)).toBeNull();
  }
});

test("a waiter misses no change, sleeps through others, and leaves no listener", async () => {
  const feed = new ProcessFeed();
  const quit = new AbortController();
  {
    using waiter = new ChangeWaiter(feed, 1, "state");
    expect(feed.size).toBe(1);
    feed.notify(1, "state");
    feed.notify(1, "state");
    expect(await waiter.next(10_000, [quit.signal])).toBe("changed");
    feed.notify(1, "data");
    feed.notify(2, "state");
    expect(await waiter.next(5, [quit.signal])).toBe("time");
    const next = waiter.next(10_000, [quit.signal, feed.closed]);
    quit.abort();
    expect(await next).toBe("aborted");
  }
  expect(feed.size).toBe(0);
});
