/** The slot processes: how many, how long they live, and that losing one costs its run only. */
import { afterEach, expect, test } from "vitest";
import { type IvmHarness, listSlotPids, openIvm, until } from "./ivm-environment.ts";

let ivm: IvmHarness | null = null;
afterEach(async () => {
  await ivm?.[Symbol.asyncDispose]();
  ivm = null;
  expect(listSlotPids()).toEqual([]);
});

test("200 executions at once over two slots all succeed, each with its own result", async () => {
  const open = await openIvm({ slots: 2 });
  ivm = open;
  const runs = await Promise.all(
    Array.from({ length: 200 }, (_, n) => open.run(`console.log(${n}); return await tools.a.b({ n: ${n} })`)),
  );
  runs.forEach((run, n) => {
    expect(run).toMatchObject({ state: "success", result: { n }, stdout: `${n}\n` });
    expect(run.states.at(-1)).toBe("running");
  });
  expect(runs.filter(({ states }) => states[0] === "queued").length).toBeGreaterThan(100);
  expect(listSlotPids().length).toBe(2);
});

test("a slot that is killed from outside in the middle of a run: crashed, and the next run works", async () => {
  ivm = await openIvm({ slots: 1 });
  const { eid, over } = ivm.start("console.log('on'); await tools.a.b({}); for (;;);");
  await until(() => ivm?.records.get(eid)?.stdout === "on\n");
  const [pid] = listSlotPids();
  process.kill(pid as number, "SIGKILL");
  expect(await over).toMatchObject({ state: "failed", stdout: "on\n", error: { reason: "crashed" } });
  expect(await ivm.run("return 1")).toMatchObject({ state: "success", result: 1 });
  expect(listSlotPids()).not.toContain(pid);
});

test("a slot that dies while it is idle is replaced before anybody notices", async () => {
  ivm = await openIvm({ slots: 1 });
  await ivm.run("return 1");
  const [pid] = listSlotPids();
  process.kill(pid as number, "SIGKILL");
  await until(() => listSlotPids()[0] !== pid && ivm?.env.status?.().warm === 1);
  expect(await ivm.run("return 2")).toMatchObject({ state: "success", result: 2 });
});

test("a slot is replaced after its number of runs", async () => {
  ivm = await openIvm({ slots: 1, maxRunsPerSlot: 3 });
  const seen = new Set<number>();
  for (let n = 0; n < 7; n++) {
    expect(await ivm.run("return 1")).toMatchObject({ state: "success" });
    for (const pid of listSlotPids()) seen.add(pid);
  }
  expect(seen.size).toBeGreaterThanOrEqual(3);
});

test("kill before a slot is free: canceled at once, nothing runs", async () => {
  ivm = await openIvm({ slots: 1 });
  const first = ivm.start("for (;;);", { timeoutMs: null });
  await until(() => ivm?.records.get(first.eid)?.states.includes("running") === true);
  const second = ivm.start("console.log('ran')");
  await until(() => ivm?.records.get(second.eid)?.states.includes("queued") === true);
  await ivm.env.kill(second.eid);
  expect(await second.over).toMatchObject({ state: "canceled", stdout: "", states: ["queued"] });
  await ivm.env.kill(first.eid);
  await first.over;
});

test("a run that waits longer than queueTtlMs is canceled with that reason", async () => {
  ivm = await openIvm({ slots: 1, queueTtlMs: 200 });
  const first = ivm.start("for (;;);", { timeoutMs: null });
  await until(() => ivm?.records.get(first.eid)?.states.includes("running") === true);
  expect(await ivm.run("return 1")).toMatchObject({
    state: "canceled",
    error: { reason: "queue_timeout", message: expect.stringContaining("200 ms") },
  });
  await ivm.env.kill(first.eid);
  await first.over;
});

test("teardown ends running and waiting executions and leaves no process", async () => {
  const open = await openIvm({ slots: 2 });
  ivm = open;
  const runs = Array.from({ length: 5 }, () => open.start("for (;;);", { timeoutMs: null }));
  await until(() => runs.filter(({ eid }) => open.records.get(eid)?.states.includes("running")).length === 2);
  await open.env.teardown();
  for (const { over } of runs) expect((await over).state).toBe("canceled");
  expect(listSlotPids()).toEqual([]);
});

test("status counts slots and reports the isolation that was seen", async () => {
  ivm = await openIvm({ slots: 2 });
  const status = ivm.env.status?.();
  expect(status).toMatchObject({ slots: 2, busy: 0, warm: 1, limits: { memoryMb: 128, maxMemoryMb: 1024 } });
  const obtained = status?.isolation.layers.filter((layer) => layer.obtained).map(({ layer }) => layer);
  expect(obtained).toEqual(expect.arrayContaining([0, 1, 2, 3, 4, 6, 7]));
  expect(status?.isolation.level).toBe("strict");
  const { eid, over } = ivm.start("for (;;);", { timeoutMs: null });
  await until(() => ivm?.records.get(eid)?.states.includes("running") === true);
  expect(ivm.env.status?.().busy).toBe(1);
  await ivm.env.kill(eid);
  await over;
});

test("the docs name this environment and its limits", async () => {
  ivm = await openIvm({ slots: 1, memoryMb: 64 });
  const docs = await ivm.env.generateDocs();
  expect(docs).toContain("typescript-ivm");
  expect(docs).toContain("64 MB");
});
