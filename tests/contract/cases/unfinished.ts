/** Cases: work that a script starts and does not wait for. */
import { expect } from "vitest";
import type { EnvironmentCase, Run } from "../bench.ts";

const told = ({ warnings }: Run) => warnings.map(({ code, line }) => [code, line]);
const toolIds = ({ calls }: Run) => calls.map(({ toolId }) => toolId);

export const unfinishedCases: EnvironmentCase[] = [
  {
    id: "unfinished.calls",
    sentence: "calls that were not awaited are finished before the run ends, and named in one warning a line",
    async check({ run }) {
      const done = await run(`
        for (const n of [1, 2, 3]) tools.test.delay({ ms: 30, n });
        tools.test.delay({ ms: 60 });
        fetch("http://web.test/text");
        return "sent";`);
      expect([done.state, done.result, done.calls.length, done.aborted]).toEqual(["success", "sent", 5, 0]);
      expect(told(done).sort()).toEqual([
        ["call_not_awaited", 2],
        ["call_not_awaited", 3],
        ["call_not_awaited", 4],
      ]);
      expect(done.warnings.find(({ line }) => line === 2)?.message).toMatch(
        /^tools\.test\.delay was called 3 times without awaiting it/,
      );
    },
  },
  {
    id: "unfinished.continued",
    sentence:
      "code that continues after a call that is not awaited runs to its end, through calls, files and timers",
    async check({ run }) {
      const done = await run(`
        const seen = [];
        [1, 2, 3].forEach(async (n) => {
          seen.push(await tools.test.delay({ ms: 10, value: n }));
          await new Promise((resolve) => setTimeout(resolve, 20));
          await cyrnel.files.write("f" + n, "x");
          await tools.test.echo({ n });
          console.log("done", n);
        });
        return seen;`);
      expect([done.state, done.warnings]).toEqual(["success", []]);
      expect(done.calls).toHaveLength(6);
      expect(done.stdout.split("\n").sort()).toEqual(["", "done 1", "done 2", "done 3"]);
      expect(Object.keys(done.artifacts).sort()).toEqual(["f1", "f2", "f3"]);
      // The result includes items pushed after the script returned its list.
      expect([...done.result].sort()).toEqual([1, 2, 3]);
    },
  },
  {
    id: "unfinished.kinds",
    sentence: "fetch, questions, look-ups and file writes are finished like calls of tools",
    async check({ run }) {
      const done = await run(`
        const note = (what) => () => console.log(what);
        fetch("http://web.test/echo").then(note("fetch"));
        // A runtime may have no one to ask.
        cyrnel.ask({ message: "?" }).then(note("ask"), note("ask"));
        cyrnel.discoverTools("x").then(note("found"));
        cyrnel.files.write("late.txt", "y".repeat(300_000)).then(note("written"));`);
      expect([done.state, done.stdout.trim().split("\n").sort()]).toEqual([
        "success",
        ["ask", "fetch", "found", "written"],
      ]);
      expect(done.artifacts["late.txt"]?.length).toBe(300_000);
    },
  },
  {
    id: "unfinished.observed",
    sentence: "a promise that any code looks at is awaited, and a promise of a call is like every other",
    async check({ run }) {
      const done = await run(`
        const call = () => tools.test.echo({});
        await call(); call().then(() => {}); call().catch(() => {}); call().finally(() => {});
        await Promise.all([call()]); await Promise.race([call()]); Promise.allSettled([call()]); Promise.any([call()]);
        const later = call(); await call(); const value = await later;
        (async () => call())(); Promise.resolve(call()); for await (const one of [call()]);
        const p = call(), own = Object.getOwnPropertyNames(p), tag = Object.prototype.toString.call(p);
        return [p instanceof Promise, p.constructor === Promise, own, tag, value, p.then === Promise.prototype.then, call() instanceof Promise && await call()];`);
      expect(done.result).toEqual([true, true, [], "[object Promise]", {}, true, {}]);
      expect(told(done)).toEqual([["call_not_awaited", 2]]);
    },
  },
  {
    id: "unfinished.order",
    sentence: "awaiting a call takes as many turns as awaiting any promise",
    async check({ run }) {
      const { result } = await run(`
        const seen = [];
        const call = tools.test.echo({});
        const plain = new Promise((resolve) => call.then(() => 0) && call.then(resolve));
        const first = call.then(async () => { seen.push("a"); await call; seen.push("b"); await call; seen.push("c"); });
        const settled = Promise.resolve(1);
        const second = call.then(async () => { seen.push("A"); await settled; seen.push("B"); await settled; seen.push("C"); });
        await Promise.all([first, second, plain]);
        return seen.join("");`);
      expect(result).toBe("aAbBcC");
    },
  },
  {
    id: "unfinished.returned",
    sentence: "a call that is returned is awaited",
    async check({ run }) {
      const done = await run("return tools.test.echo({ a: 1 })");
      expect([done.result, done.warnings]).toEqual([{ a: 1 }, []]);
    },
  },
  {
    id: "unfinished.rejected",
    sentence:
      "a call that fails and that no code handles fails the run, with its name and line, once everything else is done",
    async check({ run }) {
      const done = await run(`
        tools.test.fail({ name: "TeaError", message: "no tea" });
        tools.test.delay({ ms: 30 }).then(() => console.log("done"));
        return 1;`);
      expect([done.state, done.hasResult, done.stdout]).toEqual(["failed", false, "done\n"]);
      const { reason, name, message, line } = done.error ?? {};
      expect([reason, name, line]).toEqual(["unhandled_rejection", "TeaError", 2]);
      expect(message).toBe("tools.test.fail (line 2) failed, and no code handled it: no tea");
    },
  },
  {
    id: "unfinished.rejected-inside",
    sentence: "a failed call inside of code that nothing awaits is named as well",
    async check({ run }) {
      const done = await run(`
        [1].forEach(async () => {
          await tools.test.delay({ ms: 5 });
          await tools.test.fail({ message: "lost" });
        });
        return 1;`);
      const { reason, message, line } = done.error ?? {};
      expect([done.state, reason, line]).toEqual(["failed", "unhandled_rejection", 4]);
      expect(message).toBe("tools.test.fail (line 4) failed, and no code handled it: lost");
    },
  },
  {
    id: "unfinished.caught-late",
    sentence:
      "a rejection that code handles later, until the run has ended, does not fail it; where others may have gone unseen, a warning says so",
    async check({ run, seesOneRejection }) {
      const calls = ['tools.test.fail({ message: "late" })', "tools.test.echo(() => {})"];
      const others = [
        '(async () => { await tools.test.fail({ message: "late" }); })()',
        'tools.test.fail({ message: "late" }).then(() => {})',
        'Promise.reject(new Error("late"))',
        'Promise.reject("late")',
        "Promise.reject({ late: true })",
      ];
      for (const start of [...calls, ...others]) {
        const done = await run(`
          const p = ${start};
          await tools.test.delay({ ms: 20 });
          try { await p; } catch (error) { return "caught"; }`);
        const codes = done.warnings.map(({ code }) => code);
        const expected = seesOneRejection && others.includes(start) ? ["rejections_unseen"] : [];
        expect([start, done.state, done.result, codes]).toEqual([start, "success", "caught", expected]);
        if (start.includes("reject(new"))
          expect(done.warnings).toMatchObject(expected.map(() => ({ line: 2 })));
      }
    },
  },
  {
    id: "unfinished.caught-some",
    sentence: "of several promises that are rejected in one step and handled in part, none is silently lost",
    async check({ run, seesOneRejection }) {
      const done = await run(`
        const fail = async (what) => { throw new Error(what); };
        const first = fail("first"), second = fail("second");
        await tools.test.delay({ ms: 20 });
        await first.catch(() => {});
        return 1;`);
      if (!seesOneRejection) {
        expect([done.error?.reason, done.error?.message]).toEqual([
          "unhandled_rejection",
          expect.stringContaining("second"),
        ]);
      } else {
        expect([done.state, done.warnings]).toMatchObject([
          "success",
          [{ code: "rejections_unseen", line: 2 }],
        ]);
      }
    },
  },
  {
    id: "unfinished.caught-other",
    sentence: "of two equal rejections both have to be handled",
    async check({ run }) {
      for (const start of ["tools.test.fail", "(async (x) => { await tools.test.fail(x); })"]) {
        const done = await run(`
          const fail = (ms) => tools.test.delay({ ms }).then(() => ${start}({ message: "late" }));
          const first = fail(5), second = fail(10);
          await tools.test.delay({ ms: 60 });
          await first.catch(() => {});
          return 1;`);
        expect([start, done.state, done.error?.reason]).toEqual([start, "failed", "unhandled_rejection"]);
      }
    },
  },
  {
    id: "unfinished.aborted",
    sentence: "a call that the script aborts rejects with the reason and is not waited for",
    async check({ run }) {
      const done = await run(`
        const controller = new AbortController();
        const why = [];
        const note = (error) => why.push(error.name ?? error);
        tools.test.hang({}, { signal: controller.signal }).catch(note);
        cyrnel.services.test.tools.hang.invoke({}, { signal: controller.signal }).catch(note);
        fetch("http://web.test/slow", { signal: controller.signal }).catch(note);
        const unseen = tools.test.hang({}, { signal: controller.signal });
        await tools.test.echo({}, { signal: controller.signal });
        controller.abort();
        await tools.test.echo({}, { signal: controller.signal }).catch(note);
        await tools.test.echo({}, { signal: AbortSignal.abort("early") }).catch(note);
        await cyrnel.ask({ message: "?" }, { signal: AbortSignal.abort("unasked") }).catch(note);
        await tools.test.hang({}, { signal: AbortSignal.timeout(20) }).catch(note);
        return why;`);
      expect(done.error).toBeUndefined();
      expect(done.result).toEqual([
        "AbortError",
        "AbortError",
        "AbortError",
        "AbortError",
        "early",
        "unasked",
        "TimeoutError",
      ]);
      expect(toolIds(done).filter((id) => id === "echo")).toHaveLength(1);
      expect(done.warnings).toEqual([]);
      await expect.poll(() => done.aborted, { timeout: 5000 }).toBe(4);
    },
  },
  {
    id: "unfinished.aborted-in-line",
    sentence: "calls that are aborted before they are sent are recorded, in their order, and not made",
    async check({ run }) {
      const done = await run(`
        const controller = new AbortController();
        const { signal } = controller;
        const names = [];
        const note = (error) => names.push(error.name);
        for (let n = 0; n < 40; n++) tools.test.hang({ n }, { signal }).catch(note);
        fetch("http://web.test/text", { signal }).catch(note);
        const last = tools.test.echo({ n: 41 });
        controller.abort();
        return [await last, new Set(names).size, names[0], names.length];`);
      expect(done.error).toBeUndefined();
      expect(done.result).toEqual([{ n: 41 }, 1, "AbortError", 41]);
      expect(done.calls.map(({ serviceId, parameters }) => parameters.n ?? serviceId)).toEqual([
        ...Array.from({ length: 40 }, (_, n) => n),
        "fetch",
        41,
      ]);
      expect(done.warnings).toEqual([]);
      await expect.poll(() => done.aborted, { timeout: 5000 }).toBe(32);
    },
  },
  {
    id: "unfinished.options",
    sentence: "options that a call does not have are refused with those that it has",
    async check({ run }) {
      const { result, calls } = await run(`
        const attempts = [() => tools.test.echo({}, { signal: 1 }), () => tools.test.echo({}, { retries: 1 }), () => tools.test.echo({}, "x"),
          () => cyrnel.ask({ message: "?" }, { saveAs: "x" })];
        return await Promise.all(attempts.map((attempt) => attempt().catch((error) => error.message)));`);
      expect(calls).toEqual([]);
      for (const message of result.slice(0, 3))
        expect(message).toMatch(
          /^tools\.test\.echo takes \{.*signal: an AbortSignal.*\} as its second argument/,
        );
      expect(result[3]).toBe("cyrnel.ask takes {signal: an AbortSignal} as its second argument, or none.");
    },
  },
  {
    id: "unfinished.raced",
    sentence: "a call that lost a race is waited for, the timer that won is not, nor the one that lost",
    async check({ run }) {
      const done = await run(`
        const after = (ms) => new Promise((resolve) => setTimeout(resolve, ms, "timer"));
        const slow = tools.test.delay({ ms: 80, value: "call" }).then(() => console.log("finished"));
        const won = await Promise.race([slow, after(5)]);
        const quick = await Promise.race([tools.test.echo({}), after(30_000)]);
        return [won, quick];`);
      expect([done.result, done.stdout]).toEqual([["timer", {}], "finished\n"]);
      expect(done.wallMs).toBeLessThan(20_000);
      expect(told(done)).toEqual([["timers_dropped", 2]]);
    },
  },
  {
    id: "unfinished.timers",
    sentence: "timers are not waited for: a warning names the line of those that were dropped",
    async check({ run }) {
      const done = await run(`
        setTimeout(() => tools.test.echo({}), 5_000);
        setInterval(() => {}, 60_000);
        setTimeout(() => {}, 9_000).unref(); AbortSignal.timeout(9_000); clearTimeout(setTimeout(() => {}, 9_000));
        (async () => { await new Promise((resolve) => setTimeout(resolve, 7_000)); await tools.test.echo({}); })();
        return 1;`);
      expect([done.state, done.calls.length]).toEqual(["success", 0]);
      expect(told(done)).toEqual([
        ["timers_dropped", 2],
        ["timers_dropped", 3],
        ["timers_dropped", 5],
      ]);
      expect(done.warnings[0]?.message).toMatch(/^A timer of 5000 ms had not fired when the run ended/);
    },
  },
  {
    id: "unfinished.heartbeat",
    sentence: "a timer that sets itself again does not keep a run from its end",
    async check({ run }) {
      const done = await run(`
        let beats = 0;
        const beat = () => { beats++; setTimeout(beat, 5); };
        beat();
        tools.test.delay({ ms: 60 }).then(() => console.log(beats > 2));
        return 1;`);
      expect([done.state, done.stdout, told(done)]).toEqual(["success", "true\n", [["timers_dropped", 3]]]);
    },
  },
  {
    id: "unfinished.timeout",
    sentence: "a run whose time is over while it waits names the calls that it waited for, with their lines",
    async check({ run }) {
      const waiting = await run("const x = 1;\nawait tools.test.hang({});", { timeoutMs: 1500 });
      expect([waiting.state, waiting.error?.message]).toEqual([
        "timeout",
        expect.stringMatching(
          /limit of 1500 ms: it timed out while waiting for tools\.test\.hang, line 2\.$/,
        ),
      ]);
      const draining = await run(
        "tools.test.hang({});\n\nfetch('http://web.test/slow').catch(() => {});\nreturn 1;",
        { timeoutMs: 1500 },
      );
      expect([draining.state, draining.error?.message]).toEqual([
        "timeout",
        expect.stringMatching(/waiting for tools\.test\.hang, line 1; fetch of http:\/\/web\.test\/slow/),
      ]);
      const busy = await run("tools.test.hang({});\nawait tools.test.echo({}); for (;;);", {
        timeoutMs: 1500,
      });
      expect([busy.state, busy.error?.message]).toEqual([
        "timeout",
        expect.stringMatching(/limit of 1500 ms/),
      ]);
    },
  },
  {
    id: "unfinished.side-effects",
    sentence: "calls that the conversion of a result makes are finished, and made once",
    async check({ run }) {
      const done = await run(`
        const result = { toJSON() { tools.test.delay({ ms: 20 }).then(() => console.log("done")); return 1; } };
        tools.test.delay({ ms: 5 }).then(() => {});
        return result;`);
      expect([done.result, done.stdout, done.calls.length]).toEqual([1, "done\n", 2]);
    },
  },
];
