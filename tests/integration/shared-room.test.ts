/** What all keys share cannot be taken by one of them: the queue, the disk of runs' files, and the statements of downloads. */
import { tmpdir } from "node:os";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createSharedLimit } from "#api/bounds/shared-limit.ts";
import { createSharedRoom } from "#runner/shared-room.ts";
import { createSpools } from "#runner/workspace/spool.ts";
import { startGovernanceServer } from "./governance-server.ts";

test("a key alone gets all but the last part, and whoever comes next finds some, in whatever order", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 10, max: 2000 }),
      fc.array(fc.tuple(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 1, max: 300 })), { maxLength: 60 }),
      (max, steps) => {
        const kept = Math.floor(max / 10);
        const room = createSharedRoom(max, kept);
        while (room.take("greedy", 1) === null);
        expect(room.used).toBe(Math.max(1, max - kept));
        for (const [key, amount] of steps) for (let n = 0; n < amount; n += 1) room.take(`key ${key}`, 1);
        expect(room.used).toBeLessThanOrEqual(max);
        // Each takes half of what is free, so it takes many of them to take everything.
        if (kept > 64) expect(room.take("newcomer", 1)).toBeNull();
        for (const key of ["greedy", "newcomer", ...steps.map(([one]) => `key ${one}`)]) {
          room.give(key, room.heldBy(key));
        }
        expect(room.used).toBe(0);
      },
    ),
  );
});

test("without keys all of the room is there", () => {
  const room = createSharedRoom(100, 10);
  while (room.take("anonymous", 1) === null);
  expect(room.used).toBe(100);
});

test("a key that fills the queue is refused at once, and another key's processes are taken", async () => {
  await using governance = await startGovernanceServer({
    environment: { CYRNEL_MAX_ACTIVE_PROCESSES: "50" },
  });
  const scopes = ["processes:read", "processes:write"];
  const [greedy, other] = [await governance.makeKey({ scopes }), await governance.makeKey({ scopes })];
  const submit = (caller: typeof greedy) => caller.send("POST", "/processes", { code: "gate queue" });
  const answers = await Promise.all(Array.from({ length: 60 }, () => submit(greedy)));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(45);
  const [refused] = answers.filter(({ status }) => status === 429);
  expect(refused?.body).toMatchObject({
    code: "too_many_processes",
    error: expect.stringContaining("the last 5 are kept for keys that have few"),
  });
  expect(refused?.headers.get("retry-after")).toBe("1");
  expect((await submit(other)).status).toBe(201);
  expect((await submit(greedy)).status).toBe(429);
  expect((await submit(other)).status).toBe(201);
  governance.environment.open("queue");
  await expect.poll(async () => (await submit(greedy)).status, { timeout: 20_000 }).toBe(201);
}, 60_000);

test("a key whose runs fill the disk is stopped, another key's runs write on", async () => {
  const spools = createSpools({ folder: tmpdir(), maxBytes: 1000 });
  const [first, second, other] = [spools.open("greedy"), spools.open("greedy"), spools.open("other")];
  await first.write(Buffer.alloc(600), 0);
  await second.write(Buffer.alloc(300), 0);
  await expect(second.write(Buffer.alloc(50), 300)).rejects.toThrow(/kept for other keys/);
  await other.write(Buffer.alloc(50), 0);
  await first.close();
  await second.write(Buffer.alloc(50), 300);
  await Promise.all([second.close(), other.close()]);
});

test("of statements a key waits for its own, another key's go on at once, and turns are fair", async () => {
  const gate = createSharedLimit(4, 1);
  const order: string[] = [];
  const ends: (() => void)[] = [];
  const job = (key: string) =>
    gate.run(key, () => {
      order.push(key);
      return new Promise<void>((end) => ends.push(end));
    });
  const jobs = Array.from({ length: 100 }, () => job("greedy"));
  await Promise.resolve();
  jobs.push(job("other"), job("other"), job("third"));
  await new Promise((resolve) => setImmediate(resolve));
  expect(order).toEqual(["greedy", "greedy", "greedy", "other"]);
  ends[0]?.();
  await new Promise((resolve) => setImmediate(resolve));
  // The one that has none is before those that have some.
  expect(order.at(-1)).toBe("third");
  while (ends.length < jobs.length) {
    for (const end of ends) end();
    await new Promise((resolve) => setImmediate(resolve));
  }
  for (const end of ends) end();
  await Promise.all(jobs);
});
