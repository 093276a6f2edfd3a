/**
 * Random histories on both environments: tasks that are awaited or not, with calls, races, timers, questions and failures, paused and killed
 * at random places and repeated from their checkpoints. CYRNEL_REPLAY_HISTORIES says how many.
 */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { instantiate as instantiateIvm } from "#modules/typescript-ivm/index.ts";
import { instantiate as instantiateProcess } from "#modules/typescript-process/index.ts";
import type { EnvironmentModule, ErrorDetail, ExecutionExitState, ExecutionOutcome, RunWarning } from "#sdk";

const HISTORIES = Number(process.env.CYRNEL_REPLAY_HISTORIES ?? 40);
const AT_ONCE = 4;
const MAX_PAUSES = 3;
const ENVIRONMENTS = {
  "typescript-process": { instantiate: instantiateProcess, config: { maxConcurrency: 8 } },
  "typescript-ivm": { instantiate: instantiateIvm, config: { slots: 4, minSlots: 4 } },
};

const ms = fc.integer({ min: 0, max: 8 });
/** One step of a task, as code. */
const step = fc.oneof(
  { weight: 4, arbitrary: ms.map((at) => `note(await tools.s.wait({ ms: ${at}, value: count++ }));`) },
  { weight: 2, arbitrary: ms.map((at) => `await sleep(${at});`) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(ms, ms)
      .map(([a, b]) => `note(await Promise.race([tools.s.wait({ ms: ${a}, value: "call" }), sleep(${b})]));`),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(ms, ms)
      .map(
        ([a, b]) =>
          `note(await Promise.all([tools.s.wait({ ms: ${a}, value: 1 }), sleep(${b}), tools.s.wait({ ms: ${b}, value: 2 })]));`,
      ),
  },
  { weight: 1, arbitrary: fc.constant("note(await tools.s.fail({}).catch(({ code }) => code));") },
  { weight: 1, arbitrary: fc.constant('note(await cyrnel.ask({ message: "?" }));') },
  { weight: 1, arbitrary: ms.map((at) => `tools.s.wait({ ms: ${at}, value: "unseen" });`) },
  {
    weight: 1,
    arbitrary: ms.map(
      (at) =>
        `{ const given = new AbortController(); tools.s.wait({ ms: 30, value: "given up" }, { signal: given.signal }).catch(({ name }) => note(name)); await sleep(${at}); given.abort(); }`,
    ),
  },
  {
    weight: 1,
    arbitrary: ms.map(
      (at) =>
        `{ const late = tools.s.fail({}); await tools.s.wait({ ms: ${at}, value: "x" }); await late.catch(({ code }) => note("late " + code)); }`,
    ),
  },
  { weight: 1, arbitrary: fc.constant("note(Date.now()); note(Math.random());") },
);
const task = fc.record({
  isAwaited: fc.boolean(),
  steps: fc.array(step, { minLength: 1, maxLength: 5 }),
});
const history = fc.record({
  tasks: fc.array(task, { minLength: 1, maxLength: 4 }),
  /** When it is paused: after so many calls and milliseconds, each time. */
  pauses: fc.array(
    fc.record({ calls: fc.integer({ min: 1, max: 8 }), ms: fc.integer({ min: 0, max: 12 }) }),
    {
      minLength: 1,
      maxLength: MAX_PAUSES,
    },
  ),
});
type History = typeof history extends fc.Arbitrary<infer T> ? T : never;

function write({ tasks }: History): string {
  const lines = tasks.map(({ isAwaited, steps }, index) => {
    // A timer that is set before the script returns is not waited for, so code that nothing awaits begins with a call.
    const first = isAwaited ? "" : "await tools.s.wait({ ms: 1, value: 0 }); ";
    const body = `(async () => { const note = (what) => console.log(${index}, what); ${first}${steps.join("\n")} console.log("done", ${index}); seen.push(${index}); })()`;
    return isAwaited ? `awaited.push(${body});` : `${body};`;
  });
  return `const seen = [], awaited = []; let count = 0;
    const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms, "timer"));
    ${lines.join("\n")}
    await Promise.all(awaited);
    return seen;`;
}

interface Recording {
  stdout: string;
  error: ErrorDetail | undefined;
  /** Numbers of the calls that were made. */
  made: number[];
  answered: Set<number>;
  onCall: () => void;
}

let lastEid = 0;

describe.each(Object.entries(ENVIRONMENTS))("%s", (_name, { instantiate, config }) => {
  let module: Required<Pick<EnvironmentModule, "pause" | "resume">> & EnvironmentModule;
  const executions = new Map<number, Recording>();
  let repetitions = 0;

  beforeAll(async () => {
    module = instantiate() as typeof module;
    const of = (eid: number) => executions.get(eid) as Recording;
    const unused = async () => {
      throw new Error("not part of a history");
    };
    await module.setup({
      config,
      secrets: {},
      fetch,
      logger: { debug() {}, info() {}, warn() {}, error() {} },
      bindings: {
        async invokeTool({ eid = 0, seq = 0, toolId, parameters, signal }) {
          const recording = of(eid);
          recording.made.push(seq);
          recording.onCall();
          try {
            if (toolId === "fail") throw Object.assign(new Error("no"), { code: "nope" });
            await new Promise((resolve, reject) => {
              setTimeout(resolve, Number(parameters.ms));
              signal?.addEventListener("abort", () => reject(new Error("aborted")));
            });
            return parameters.value;
          } finally {
            recording.answered.add(seq);
          }
        },
        async ask(eid, _request, call) {
          of(eid).made.push(call?.seq ?? 0);
          of(eid).onCall();
          await new Promise((resolve) => setTimeout(resolve, 2));
          of(eid).answered.add(call?.seq ?? 0);
          return "answer";
        },
        setState() {},
        setError() {},
        setResult() {},
        setUsage() {},
        emitStdout(eid, data) {
          of(eid).stdout += data.toString();
        },
        emitStderr() {},
        emitOutput() {},
        discoverServices: unused,
        discoverTools: unused,
        getService: unused,
        getTool: unused,
        getToolDocs: unused,
      },
    });
  }, 60_000);
  afterAll(async () => {
    await module?.teardown();
  });

  function start(code: string, checkpoint: unknown) {
    const eid = ++lastEid;
    const recording: Recording = {
      stdout: "",
      error: undefined,
      made: [],
      answered: new Set(),
      onCall: () => {},
    };
    executions.set(eid, recording);
    const ended = module.execute({
      eid,
      code,
      options: { timeoutMs: 60_000 },
      ...(checkpoint !== undefined && { checkpoint }),
    }) as Promise<ExecutionOutcome>;
    return { eid, recording, ended };
  }

  /** Runs until the chosen point, freezes and kills. Returns null if the run ended before. */
  async function runToPause(code: string, checkpoint: unknown, place: History["pauses"][number]) {
    const run = start(code, checkpoint);
    const reached = Promise.withResolvers<void>();
    run.recording.onCall = () => {
      if (run.recording.made.length >= place.calls) reached.resolve();
    };
    await Promise.race([reached.promise, run.ended]);
    await new Promise((resolve) => setTimeout(resolve, place.ms));
    try {
      const frozen = JSON.parse(JSON.stringify(await module.pause(run.eid)));
      await module.kill(run.eid);
      await run.ended;
      return { ...run, frozen };
    } catch {
      return { ...run, frozen: null };
    }
  }

  async function check(given: History): Promise<void> {
    const code = write(given);
    let checkpoint: unknown;
    let before = "";
    const answered = new Set<number>();
    for (const place of given.pauses) {
      const { recording, frozen, ended } = await runToPause(code, checkpoint, place);
      expectRepeated(recording);
      if (frozen === null) return expectEnd(await ended, recording, given);
      checkpoint = frozen;
      repetitions++;
      before = recording.stdout;
      for (const { seq, reply } of (frozen as { calls: { seq: number; reply: unknown }[] }).calls) {
        if (reply !== null) answered.add(seq);
      }
    }
    const { recording, ended } = start(code, checkpoint);
    const outcome = await ended;
    expectRepeated(recording);
    expectEnd(outcome, recording, given);

    function expectRepeated({ stdout, made }: Recording): void {
      expect([stdout.slice(0, before.length), code]).toEqual([before, code]);
      expect(made.filter((seq) => answered.has(seq))).toEqual([]);
      expect(made.length).toBe(new Set(made).size);
    }
  }

  function expectEnd(outcome: ExecutionOutcome, { stdout }: Recording, { tasks }: History): void {
    const { exitState, error, result, warnings = [] } = outcome;
    expect([exitState, error]).toEqual(["success" satisfies ExecutionExitState, undefined]);
    const done = [...stdout.matchAll(/^done (\d)$/gm)].map(([, index]) => Number(index));
    expect(result).toEqual(done);
    // A timer that won a race before the script returned may have code behind it: that is dropped, and said.
    const isTold = (warnings as readonly RunWarning[]).some(({ code }) => code === "timers_dropped");
    if (!isTold) expect(done.length).toBe(tasks.length);
  }

  test(`${HISTORIES} random histories repeat identically`, {
    timeout: 30_000 + HISTORIES * 5_000,
  }, async () => {
    const several = fc.array(history, { minLength: AT_ONCE, maxLength: AT_ONCE });
    const checkAll = async (given: History[]) => void (await Promise.all(given.map(check)));
    await fc.assert(fc.asyncProperty(several, checkAll), {
      numRuns: HISTORIES / AT_ONCE,
      interruptAfterTimeLimit: 3_000_000,
    });
    expect(repetitions).toBeGreaterThan(HISTORIES / 2);
  });
});
