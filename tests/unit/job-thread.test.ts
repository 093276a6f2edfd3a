/** The one way to do work beside the server's thread: bounds of time, memory and waiting, and what comes after each. */
import { expect, test } from "vitest";
import { createJobThread } from "#modules/shared/job-thread.ts";

interface Job {
  kind: "echo" | "spin" | "pattern" | "grow" | "exit" | "throw";
  value?: unknown;
}

const ENTRY = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort, threadId } from "node:worker_threads";
    parentPort.on("message", ({ kind, value }) => {
      if (kind === "spin") for (;;) {}
      if (kind === "pattern") /^(a+)+$/.test("a".repeat(60) + "b");
      if (kind === "grow") for (const kept = [];;) kept.push({ text: String(kept.length) });
      if (kind === "exit") process.exit(3);
      if (kind === "throw") throw new Error("of the job");
      parentPort.postMessage({ value, threadId, environment: Object.keys(process.env) });
    });`)}`,
);

interface Answer {
  value: unknown;
  threadId: number;
  environment: string[];
}
const create = (limits: { maxWaiting?: number } = {}) =>
  createJobThread<Job, Answer>(ENTRY, { maxHeapMb: 32, maxYoungHeapMb: 4, idleMs: 60_000, ...limits });
const echo = (value: unknown): Job => ({ kind: "echo", value });

test("jobs have their turns in one thread, which knows nothing of the environment", async () => {
  await using thread = create();
  const ends = await Promise.all([1, 2, 3].map((value) => thread.run(echo(value), 5000)));
  const answers = ends.map((end) => (end.kind === "answered" ? end.answer : null));
  expect(answers.map((answer) => answer?.value)).toEqual([1, 2, 3]);
  expect(new Set(answers.map((answer) => answer?.threadId)).size).toBe(1);
  expect(answers[0]?.environment).toEqual([]);
});

test.each(["spin", "pattern"] as const)(
  "what never ends (%s) is ended, and the next has its whole time",
  async (kind) => {
    await using thread = create();
    const [stuck, next] = await Promise.all([thread.run({ kind }, 300), thread.run(echo("next"), 5000)]);
    expect(stuck).toEqual({ kind: "timeout", message: "it takes longer than 300 ms", maxMs: 300 });
    expect(next).toMatchObject({ kind: "answered", answer: { value: "next" } });
  },
);

test("what needs too much memory, throws or leaves takes its thread with it, and nothing else", async () => {
  await using thread = create();
  expect(await thread.run({ kind: "grow" }, 30_000)).toEqual({
    kind: "memory",
    message: "it takes more than 32 MiB of memory",
  });
  expect(await thread.run({ kind: "throw" }, 5000)).toEqual({ kind: "failed", message: "of the job" });
  expect(await thread.run({ kind: "exit" }, 5000)).toEqual({
    kind: "failed",
    message: "its thread has ended",
  });
  expect(await thread.run(echo(1), 5000)).toMatchObject({ kind: "answered", answer: { value: 1 } });
});

test("no more wait than may; those that wait when it is stopped are told, and it can be used again", async () => {
  const thread = create({ maxWaiting: 2 });
  const ends = [thread.run({ kind: "spin" }, 60_000), thread.run(echo(1), 5000), thread.run(echo(2), 5000)];
  expect(await ends[2]).toMatchObject({ kind: "busy" });
  await thread[Symbol.asyncDispose]();
  expect(await Promise.all(ends.slice(0, 2))).toMatchObject([{ kind: "failed" }, { kind: "stopped" }]);
  expect(await thread.run(echo(3), 5000, { endsThread: true })).toMatchObject({ answer: { value: 3 } });
  await thread[Symbol.asyncDispose]();
});

test("a job that ends its thread leaves the next one a new one; bytes change hands", async () => {
  await using thread = create();
  const bytes = new Uint8Array(8);
  const first = await thread.run(echo(bytes), 5000, { transfer: [bytes.buffer], endsThread: true });
  expect(bytes.byteLength).toBe(0);
  const second = await thread.run(echo(1), 5000);
  if (first.kind !== "answered" || second.kind !== "answered") throw new Error("no answer");
  expect(second.answer.threadId).not.toBe(first.answer.threadId);
});
