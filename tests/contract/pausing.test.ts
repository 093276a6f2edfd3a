/**
 * Pausing an execution and repeating it from its checkpoint, through the module contract, on both environments: what a
 * script saw the first time it sees again, and no call is made twice.
 */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { instantiate as instantiateIvm } from "#modules/typescript-ivm/index.ts";
import { instantiate as instantiateProcess } from "#modules/typescript-process/index.ts";
import { type StoredFile, Workspace } from "#runner/workspace/workspace.ts";
import type { EnvironmentModule, ErrorDetail, ExecutionExitState, ExecutionInput, InvokeInput } from "#sdk";
import { inParts } from "#tests/contract/in-parts.ts";
import { bundleOf, servePackages } from "#tests/contract/packages.ts";

const ENVIRONMENTS = {
  "typescript-process": { instantiate: instantiateProcess, config: { maxConcurrency: 2 } },
  "typescript-ivm": { instantiate: instantiateIvm, config: { slots: 2, minSlots: 1 } },
};

interface Recording {
  stdout: string;
  result: unknown;
  error: ErrorDetail | undefined;
  calls: (InvokeInput | { ask: string; seq: number | undefined })[];
}

const GIVEN_TEXT = "given ".repeat(60_000);
const GIVEN_FILE = { name: "given.txt", size: GIVEN_TEXT.length, contentType: "text/plain" };
const GIVEN: StoredFile = {
  ...GIVEN_FILE,
  read: async (offset, length) => Buffer.from(GIVEN_TEXT.slice(offset, offset + length)),
};

const PACKAGES = servePackages({
  dice: {
    ...bundleOf({
      ".": "const first = Math.random(), at = Date.now(); return { first, at, roll: () => Math.random() }",
    }),
    version: "1.2.0",
  },
});

type Answer = (input: InvokeInput) => Promise<unknown>;

interface Execution {
  eid: number;
  recording: Recording;
  ended: Promise<ExecutionExitState>;
  /** Resolves when the call of tool `park` has come: what it answers is decided by `unpark`. */
  parked: Promise<void>;
  unpark: (value: unknown) => void;
}

let lastEid = 0;

describe.each(Object.entries(ENVIRONMENTS))("%s", (_name, { instantiate, config }) => {
  let module: Required<Pick<EnvironmentModule, "pause" | "resume" | "status">> &
    Omit<EnvironmentModule, "execute"> & { execute(input: ExecutionInput): Promise<ExecutionExitState> };
  const executions = new Map<number, { recording: Recording; answer: Answer; workspace: Workspace }>();

  beforeAll(async () => {
    module = inParts((await instantiate()) as typeof module);
    const of = (eid: number) => executions.get(eid) as NonNullable<ReturnType<typeof executions.get>>;
    await module.setup({
      config,
      secrets: {},
      fetch,
      logger: { debug() {}, info() {}, warn() {}, error() {} },
      bindings: {
        invokeTool(input) {
          const { recording, answer } = of(input.eid as number);
          recording.calls.push(input);
          return answer(input);
        },
        ask: async (eid, { message }, call) => {
          of(eid).recording.calls.push({ ask: message, seq: call?.seq });
          return `answer to ${message}`;
        },
        setState() {},
        setError: (eid, error) => {
          of(eid).recording.error = error as ErrorDetail;
        },
        setResult: (eid, value) => {
          of(eid).recording.result = value;
        },
        setUsage() {},
        emitStdout: (eid, data) => {
          of(eid).recording.stdout += data.toString();
        },
        emitStderr() {},
        emitOutput() {},
        discoverServices: async () => [],
        discoverTools: async () => [],
        getService: async () => ({ id: "s", name: "s", description: "", tools: [] }),
        getTool: async () => ({
          serviceId: "s",
          id: "t",
          name: "t",
          description: "",
          inputSchema: {},
          outputSchema: {},
        }),
        getToolDocs: async () => "",
        readFile: (eid, { name, offset, length }) => of(eid).workspace.read(name, offset, length),
        writeFile: (eid, write) => of(eid).workspace.write(write),
        removeFile: (eid, { name }) => of(eid).workspace.remove(name),
        copyFile: (eid, copy) => of(eid).workspace.copy(copy),
        resizeFile: (eid, file) => of(eid).workspace.resize(file),
        ...PACKAGES,
      },
    });
  }, 60_000);
  afterAll(async () => {
    await module?.teardown();
    for (const { workspace } of executions.values()) await workspace[Symbol.asyncDispose]();
  });

  function start(code: string, checkpoint?: unknown, timeoutMs = 30_000): Execution {
    const eid = ++lastEid;
    const recording: Recording = { stdout: "", result: undefined, error: undefined, calls: [] };
    const parked = Promise.withResolvers<void>();
    let parking = Promise.withResolvers<unknown>();
    const answer: Answer = async ({ serviceId, toolId, parameters }) => {
      if (serviceId === "fetch") {
        const body = typeof parameters.body === "string" ? { text: parameters.body } : null;
        const response = {
          status: 200,
          statusText: "",
          headers: [],
          url: parameters.url,
          redirected: false,
          body,
        };
        return { answer: response, size: null };
      }
      if (toolId === "park") {
        parked.resolve();
        parking = Promise.withResolvers();
        return parking.promise;
      }
      if (toolId === "fail") throw Object.assign(new Error("no"), { code: "nope" });
      await new Promise((resolve) => setTimeout(resolve, Number(parameters.ms ?? 0)));
      return parameters.value;
    };
    const workspace = new Workspace({ files: [GIVEN], maxBytes: 1e6, maxFiles: 10 });
    executions.set(eid, { recording, answer, workspace });
    const ended = module.execute({
      eid,
      code,
      options: { timeoutMs },
      files: [GIVEN_FILE],
      ...(checkpoint !== undefined && { checkpoint }),
    });
    return { eid, recording, ended, parked: parked.promise, unpark: (value) => parking.resolve(value) };
  }

  /** Runs to the parked call, freezes and kills; answers the checkpoint as it would come back from storage. */
  async function runToPark(code: string): Promise<{ first: Recording; checkpoint: unknown }> {
    const run = start(code);
    await run.parked;
    const checkpoint = await module.pause(run.eid);
    await module.kill(run.eid);
    await run.ended;
    return { first: run.recording, checkpoint: JSON.parse(JSON.stringify(checkpoint)) };
  }

  test("a paused run stands still, holds no slot, keeps its time, and goes on where it was", async () => {
    const run = start(
      `let ticks = 0; const timer = setInterval(() => ticks++, 5);
       const value = await tools.s.park({}); clearInterval(timer);
       const before = ticks; return { value, before };`,
      undefined,
      1500,
    );
    await run.parked;
    const busy = module.status()?.busy;
    await module.pause(run.eid);
    expect(module.status()?.busy).toBe((busy ?? 0) - 1);
    run.unpark("late");
    await new Promise((resolve) => setTimeout(resolve, 1700));
    expect(run.recording.result).toBeUndefined();
    module.resume(run.eid);
    expect(await run.ended).toBe("success");
    expect(run.recording.result).toMatchObject({ value: "late" });
  });

  test("frozen runs leave room for others", async () => {
    const runs = [1, 2, 3, 4].map(() => start("return await tools.s.park({})"));
    for (const run of runs) {
      await run.parked;
      await module.pause(run.eid);
    }
    const other = start("return 7");
    expect(await other.ended).toBe("success");
    for (const run of runs) {
      run.unpark(run.eid);
      module.resume(run.eid);
    }
    expect(await Promise.all(runs.map(({ ended }) => ended))).toEqual(runs.map(() => "success"));
    expect(runs.map(({ recording }) => recording.result)).toEqual(runs.map(({ eid }) => eid));
  });

  const VARIED = `
    const seen = [];
    console.log(Date.now(), new Date().toISOString(), performance.now(), Math.random(), crypto.randomUUID());
    console.log(Temporal.Now.instant().toString(), new Intl.DateTimeFormat("en", { timeStyle: "full" }).format(), Date());
    const order = [];
    const calls = [30, 5, 15].map(async (ms) => { order.push(await tools.s.wait({ ms, value: ms })); console.log("call", ms, Math.random()); });
    const timers = [20, 1, 10].map((ms) => new Promise((resolve) => setTimeout(() => { order.push(-ms); console.log("timer", ms, Date.now()); resolve(); }, ms)));
    const raced = await Promise.race([tools.s.wait({ ms: 12, value: "call" }), new Promise((resolve) => setTimeout(resolve, 12, "timer"))]);
    await Promise.all([...calls, ...timers]);
    try { await tools.s.fail({}); } catch (error) { order.push(error.code); }
    order.push(await cyrnel.ask({ message: "sure?" }));
    console.log(JSON.stringify(order), raced);
    const start = Date.now(); while (Date.now() - start < 3);
    const value = await tools.s.park({ order, random: Math.random() });
    return { value, order, raced, after: typeof Math.random(), now: Date.now() >= start };`;

  test("a repeated run sees what it saw before, makes no call twice, and goes on", async () => {
    const { first, checkpoint } = await runToPark(VARIED);
    expect(first.calls.length).toBe(7);
    const again = start(VARIED, checkpoint);
    await again.parked;
    expect(again.recording.stdout).toBe(first.stdout);
    expect(again.recording.calls).toEqual([
      expect.objectContaining({
        toolId: "park",
        seq: 7,
        parameters: (first.calls.at(-1) as InvokeInput).parameters,
      }),
    ]);
    again.unpark("approved");
    expect(await again.ended).toBe("success");
    expect(again.recording.result).toMatchObject({ value: "approved", after: "number", now: true });
  });

  test("a repeated run reads and writes its files again; its checkpoint holds nothing of them", async () => {
    const code = `const { files } = cyrnel;
      const text = await files.text("given.txt");
      const written = [files.write("out.txt", text.toUpperCase()), files.append("log.txt", "one\\n"), files.append("log.txt", "two\\n")];
      await Promise.race(written); await Promise.all(written); await files.write("gone.txt", "x"); await files.remove("gone.txt");
      const streamed = [files.write("s.txt", new Response("streamed").body), files.write("log.txt", (async function* () { yield "x"; throw new Error("lost"); })())];
      const lost = (await Promise.allSettled(streamed))[1].reason.message;
      console.log(text.length, lost, await files.text("log.txt"), await files.text("s.txt"));
      const value = await tools.s.park({ size: (await files.stat("out.txt")).size });
      await files.append("log.txt", value);
      return [(await files.text("out.txt")) === text.toUpperCase(), await files.text("log.txt"), await files.exists("gone.txt")];`;
    const { first, checkpoint } = await runToPark(code);
    expect(JSON.stringify(checkpoint)).not.toMatch(/given|GIVEN|one|Z2l2ZW4/);
    const again = start(code, checkpoint);
    await again.parked;
    expect(again.recording.stdout).toBe(first.stdout);
    again.unpark("three");
    expect(await again.ended).toBe("success");
    expect(again.recording.result).toEqual([true, "one\ntwo\nthree", false]);
  });

  test("a repeated run has the packages it had, which see the same clock and numbers, and is not told of others", async () => {
    const code = `import { first, at, roll } from "npm:dice@1.2";
      const later = await import("npm:dice@1.2");
      const missing = await import("none").catch((error) => error instanceof Error);
      console.log(first, at, roll(), later.roll(), missing);
      return [await tools.s.park({ first }), typeof roll()];`;
    const { first, checkpoint } = await runToPark(code);
    expect(checkpoint).toMatchObject({ packages: [{ name: "dice", range: "1.2", version: "1.2.0" }] });
    expect(JSON.stringify(checkpoint)).not.toContain("Math.random");
    const asked = PACKAGES.asked.find;
    const again = start(code, JSON.parse(JSON.stringify(checkpoint)));
    await again.parked;
    expect(again.recording.stdout).toBe(first.stdout);
    expect(PACKAGES.asked.find).toBe(asked);
    again.unpark("on");
    expect(await again.ended).toBe("success");
    expect(again.recording.result).toEqual(["on", "number"]);
    const gone = { ...(checkpoint as object), packages: [] };
    const other = start(code, gone);
    expect(await other.ended).toBe("failed");
    expect(other.recording.error?.message).toMatch(/dice was not used by the run that is replayed/);
  });

  test("a repeated run makes its requests again as they were: boundaries of forms, files of bodies, clones", async () => {
    const code = `const form = new FormData(); form.append("a", "b"); form.append("f", new File(["x"], "n.txt"));
      const response = await fetch("http://a.test/", { method: "POST", body: form, headers: { "x-a": "b" } });
      const text = await fetch("http://a.test/", { method: "POST", body: "t".repeat(200_000) }).then((r) => Promise.all([r.clone().text(), r.text()]));
      const stream = new ReadableStream({ start(c) { c.enqueue(new Uint8Array(400_000)); c.close(); } });
      await fetch("http://a.test/", { method: "PUT", body: stream, duplex: "half" });
      const type = new Response(form).headers.get("content-type");
      console.log(response.status, text.map((t) => t.length), type, Math.random());
      const value = await tools.s.park({ type });
      return [value, (await fetch("http://a.test/later", { method: "POST", body: "l" }).then((r) => r.text())), (await cyrnel.files.list()).length];`;
    const { first, checkpoint } = await runToPark(code);
    expect(first.stdout).toContain("200 [ 200000, 200000 ]");
    const again = start(code, checkpoint);
    await again.parked;
    expect(again.recording.stdout).toBe(first.stdout);
    expect(again.recording.calls).toHaveLength(1);
    again.unpark("on");
    expect(await again.ended).toBe("success");
    expect(again.recording.result).toEqual(["on", "l", 1]);
  });

  test("a repeated run can be paused and repeated again", async () => {
    const code = `const one = await tools.s.wait({ value: Math.random() }); const two = await tools.s.park({ one });
      console.log(one, two, Date.now()); const three = await tools.s.park({ two, r: Math.random() }); return [one, two, three];`;
    const { checkpoint } = await runToPark(code);
    const second = start(code, checkpoint);
    await second.parked;
    second.unpark("two");
    await expect.poll(() => second.recording.calls.length).toBe(2);
    const next = JSON.parse(JSON.stringify(await module.pause(second.eid)));
    await module.kill(second.eid);
    const third = start(code, next);
    await third.parked;
    expect(third.recording.calls).toHaveLength(1);
    third.unpark("three");
    expect(await third.ended).toBe("success");
    expect(third.recording.stdout).toBe(second.recording.stdout);
    expect(third.recording.result).toEqual([expect.any(Number), "two", "three"]);
  });

  test("replies that came while it was frozen are not lost, in place or repeated", async () => {
    const code = `const slow = tools.s.wait({ ms: 60, value: "slow" }); const value = await tools.s.park({}); return [value, await slow];`;
    const run = start(code);
    await run.parked;
    await module.pause(run.eid);
    await new Promise((resolve) => setTimeout(resolve, 120));
    run.unpark("v");
    module.resume(run.eid);
    expect(await run.ended).toBe("success");
    expect(run.recording.result).toEqual(["v", "slow"]);
  });

  test.each([
    [
      "another parameter",
      "await tools.s.wait({ value: 1 })",
      "await tools.s.wait({ value: 2 })",
      /call 1.*other parameters/,
    ],
    [
      "another tool",
      "await tools.s.wait({ value: 1 })",
      "await tools.s.fail({ value: 1 }).catch(() => {})",
      /call 1.*other parameters/,
    ],
    ["a call less", "await tools.s.wait({ value: 1 })", "", /call 1/],
    [
      "an earlier end",
      "await tools.s.wait({ value: 1 })",
      "await tools.s.wait({ value: 1 }); return 5",
      /ends earlier|has not made/,
    ],
    [
      "the clock read more often",
      "await tools.s.wait({ value: 1 })",
      "Date.now(); await tools.s.wait({ value: 1 })",
      /clock/,
    ],
  ])(
    "a script that does something else when it is repeated ends for that: %s",
    async (_what, before, after, message) => {
      const rest = "; await tools.s.wait({ ms: 1, value: 2 }); await tools.s.park({}); return 1";
      const { checkpoint } = await runToPark(`${before}${rest}`);
      const again = start(`${after}${rest}`, checkpoint);
      expect(await again.ended).toBe("failed");
      expect(again.recording.error?.reason).toBe("replay_divergence");
      expect(again.recording.error?.message).toMatch(message);
      expect(again.recording.calls).toEqual([]);
    },
  );

  test("a script in an endless loop cannot be paused, and its time goes on", async () => {
    const run = start("void tools.s.park({}); await tools.s.wait({}); for (;;);", undefined, 700);
    await run.parked;
    await new Promise((resolve) => setTimeout(resolve, 100));
    await expect(module.pause(run.eid)).rejects.toThrow();
    expect(await run.ended).toBe("timeout");
  });

  test("a run that is unknown or over cannot be paused", async () => {
    await expect(module.pause(999_999)).rejects.toThrow("999999");
    module.resume(999_999);
    const run = start("return 1");
    await run.ended;
    await expect(module.pause(run.eid)).rejects.toThrow();
  });

  test("a checkpoint that is none refuses the run with a sentence", async () => {
    const run = start("return 1", { v: 99 });
    expect(await run.ended).toBe("failed");
    expect(run.recording.error?.message).toContain("checkpoint");
  });

  test("a kill ends a frozen run", async () => {
    const run = start("return await tools.s.park({})");
    await run.parked;
    await module.pause(run.eid);
    await module.kill(run.eid);
    expect(await run.ended).toBe("canceled");
  });
});
