import { describe, expect, test } from "vitest";
import { createBoundedCache } from "#runner/source/bounded-cache.ts";

describe("the cache of prepared sources", () => {
  test("forgets what was not asked for the longest, by bytes", () => {
    const cache = createBoundedCache<string>(100);
    cache.set("a", "A", 40);
    cache.set("b", "B", 40);
    expect(cache.get("a")).toBe("A");
    cache.set("c", "C", 40);
    expect([cache.get("a"), cache.get("b"), cache.get("c")]).toEqual(["A", undefined, "C"]);
  });

  test("keeps nothing larger than itself, and counts a replaced entry once", () => {
    const cache = createBoundedCache<string>(100);
    cache.set("big", "x", 101);
    expect(cache.get("big")).toBeUndefined();
    for (let index = 0; index < 10; index++) cache.set("a", String(index), 60);
    cache.set("b", "B", 40);
    expect([cache.get("a"), cache.get("b")]).toEqual(["9", "B"]);
  });
});
