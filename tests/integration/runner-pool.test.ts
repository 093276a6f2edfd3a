import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Pool, type PoolOptions } from "#runner/pool/pool.ts";
import { type Child, spawnChild } from "#runner/pool/spawn.ts";
import { launchHostile, launchReal, listChildren } from "./runner/harness.ts";

const never = new AbortController().signal;
const pools: Pool[] = [];
const troubles: { kind: string; error: Error }[] = [];

function open(changes: Partial<PoolOptions> = {}): Pool {
  const pool = new Pool({
    start: (signal) => spawnChild(launchReal(), signal),
    isReused: false,
    min: 1,
    max: 3,
    quietMs: 300,
    onError: (trouble) => void troubles.push(trouble),
    ...changes,
  });
  pools.push(pool);
  return pool;
}

async function take(pool: Pool, signal: AbortSignal = never): Promise<Child> {
  const child = await pool.take(signal);
  if (child === null) throw new Error("no child was taken");
  return child;
}

function end(child: Child): Promise<unknown> {
  child.kill();
  child.channel.close();
  return child.exited;
}

afterEach(async () => {
  for (const pool of pools.splice(0)) await pool[Symbol.asyncDispose]();
  troubles.length = 0;
  expect(listChildren()).toEqual([]);
});

describe("a pool of children", () => {
  test("hands out a warm child, never the same twice, and starts another behind it", async () => {
    const pool = open();
    await pool.warmUp();
    expect(pool.status().warm).toBe(1);
    const first = await take(pool);
    expect(pool.status().warm).toBe(0);
    await vi.waitFor(() => expect(pool.status().warm).toBe(1), 10_000);
    const second = await take(pool);
    expect(second.pid).not.toBe(first.pid);
    await Promise.all([first, second].map(end));
    expect(troubles).toEqual([]);
  });

  test("replaces those that wait, and those that were being started then, but none in use", async () => {
    const started: Child[] = [];
    const gate = Promise.withResolvers<void>();
    const start: PoolOptions["start"] = async (signal) => {
      const child = await spawnChild(launchReal(), signal);
      started.push(child);
      if (started.length === 3) await gate.promise;
      return child;
    };
    const pool = open({ min: 2, max: 2, start });
    await pool.warmUp();
    const used = await take(pool);
    await vi.waitFor(() => expect(started).toHaveLength(3), 10_000);
    pool.replaceIdle();
    gate.resolve();
    await vi.waitFor(() => expect(pool.status()).toMatchObject({ warm: 2, booting: 0 }), 10_000);
    const [first, second, third] = started;
    for (const child of [first, second, third]) if (child !== used) await child?.exited;
    expect(used.exit).toBeNull();
    const later = await take(pool);
    expect([first, second, third]).not.toContain(later);
    await Promise.all([used, later].map(end));
    expect(troubles).toEqual([]);
  });

  test("starts one when none is warm, and as many as are asked for at once", async () => {
    const pool = open({ min: 0, max: 2 });
    const children = await Promise.all([1, 2, 3, 4, 5].map(() => take(pool)));
    expect(new Set(children.map(({ pid }) => pid)).size).toBe(5);
    await Promise.all(children.map(end));
  });

  test("grows with demand up to its maximum, and gives memory back when it is quiet", async () => {
    const pool = open({ min: 1, max: 3, quietMs: 2000 });
    await pool.warmUp();
    for (let round = 0; round < 3; round++) {
      await Promise.all((await Promise.all([1, 2, 3, 4].map(() => take(pool)))).map(end));
    }
    expect(pool.status().target).toBe(3);
    await vi.waitFor(() => expect(pool.status()).toMatchObject({ warm: 1, target: 1, booting: 0 }), 15_000);
    // Those that were given back have been killed, and are reaped a moment later.
    await vi.waitFor(() => expect(listChildren()).toHaveLength(1), 20_000);
  });

  test("replaces an idle child that dies, silently, and counts it", async () => {
    const pool = open();
    const first = await pool.warmUp();
    process.kill(first.pid, "SIGKILL");
    await vi.waitFor(() => expect(pool.status()).toMatchObject({ warm: 1, replaced: 1 }), 10_000);
    const child = await take(pool);
    expect(child.pid).not.toBe(first.pid);
    expect(troubles).toMatchObject([{ kind: "idle_death" }]);
    await end(child);
  });

  test("never hands out a child that is known to be dead", async () => {
    const pool = open({ min: 2, max: 2 });
    const first = await pool.warmUp();
    await vi.waitFor(() => expect(pool.status().warm).toBe(2), 10_000);
    process.kill(first.pid, "SIGKILL");
    await first.exited;
    const [a, b] = await Promise.all([take(pool), take(pool)]);
    expect([a.pid, b.pid]).not.toContain(first.pid);
    expect([a.exit, b.exit]).toEqual([null, null]);
    await Promise.all([a, b].map(end));
  });

  test("ends a child that speaks before it was given a run", async () => {
    let behaviour = "idle-speaks";
    const pool = open({
      start: (signal) => {
        const launch = behaviour === "" ? launchReal() : launchHostile(behaviour);
        behaviour = "";
        return spawnChild(launch, signal);
      },
    });
    await pool.warmUp();
    await vi.waitFor(() => expect(pool.status()).toMatchObject({ warm: 1, replaced: 1 }), 10_000);
    expect(troubles[0]?.error.message).toContain("spoke before it was given a run");
  });

  test("backs off from children that die again and again instead of starting them without pause", async () => {
    let starts = 0;
    const pool = open({
      start: (signal) => {
        starts++;
        return spawnChild(launchHostile("idle-exit"), signal);
      },
    });
    await pool.warmUp().catch(() => {});
    await delay(1500);
    expect(starts).toBeGreaterThan(1);
    expect(starts).toBeLessThan(12);
  });

  test("tells who waits, after some tries, why no child can be started, and recovers", async () => {
    let isBroken = true;
    let starts = 0;
    const pool = open({
      start: (signal) => {
        starts++;
        return spawnChild(isBroken ? launchHostile("exit") : launchReal(), signal);
      },
    });
    await expect(pool.warmUp()).rejects.toThrow("something is missing here");
    expect(starts).toBeGreaterThanOrEqual(3);
    expect(starts).toBeLessThan(8);
    await expect(take(pool)).rejects.toThrow("something is missing here");
    expect(troubles.every(({ kind }) => kind === "boot_failed")).toBe(true);
    isBroken = false;
    await end(await take(pool));
  });

  test("takes back a child that serves several runs, hands it to who waits, and starts no more than are needed", async () => {
    const pool = open({ isReused: true });
    await pool.warmUp();
    const child = await take(pool);
    pool.giveBack(child);
    expect((await take(pool)).pid).toBe(child.pid);
    const second = take(pool);
    pool.giveBack(child);
    expect((await second).pid).toBe(child.pid);
    await end(child);
    await vi.waitFor(() => expect(pool.status().warm).toBe(1), 10_000);
    expect((await take(pool)).pid).not.toBe(child.pid);
  });

  test("ends spare children that serve several runs when it is quiet", async () => {
    const pool = open({ isReused: true, quietMs: 500 });
    const children = await Promise.all([1, 2, 3].map(() => take(pool)));
    for (const child of children) pool.giveBack(child);
    expect(pool.status().warm).toBe(3);
    await vi.waitFor(() => expect(listChildren()).toHaveLength(1), 10_000);
    expect(troubles).toEqual([]);
  });

  test("gives nothing to a run that was killed, and keeps the child that was started for it", async () => {
    const pool = open({ min: 0 });
    const stop = new AbortController();
    const taking = pool.take(stop.signal);
    stop.abort();
    expect(await taking).toBeNull();
    expect(await pool.take(stop.signal)).toBeNull();
    expect(pool.status().waiting).toBe(0);
    await vi.waitFor(() => expect(pool.status().warm).toBe(1), 10_000);
    await end(await take(pool));
  });

  test("closing ends every child, also those that start, and tells those who wait", async () => {
    const pool = open({ min: 2, max: 4 });
    await pool.warmUp();
    const waiting = Promise.allSettled([1, 2, 3, 4].map(() => take(pool)));
    await delay(5);
    await pool[Symbol.asyncDispose]();
    for (const result of await waiting) {
      if (result.status === "fulfilled") await end(result.value);
      else expect(result.reason.message).toContain("closed");
    }
    await expect(take(pool)).rejects.toThrow("closed");
    await pool[Symbol.asyncDispose]();
    expect(listChildren()).toEqual([]);
  });
});
