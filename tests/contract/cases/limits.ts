/** Cases: how a run is stopped, and that what came before is kept. */
import { expect } from "vitest";
import type { EnvironmentCase } from "../bench.ts";

export const limitCases: EnvironmentCase[] = [
  {
    id: "limit.timeout-spinning",
    sentence: "a synchronous endless loop ends at its time-out, with what was printed before",
    async check({ run }) {
      const { state, error, stdout, stderr, output } = await run(
        'console.log("before"); console.error("warned"); cyrnel.output({ step: 1 }); for (;;) {}',
        { timeoutMs: 400 },
      );
      expect([state, error?.reason, stdout, stderr, output]).toEqual([
        "timeout",
        "timeout",
        "before\n",
        "warned\n",
        { step: 1 },
      ]);
    },
  },
  {
    id: "limit.timeout-others",
    sentence: "waiting, microtask loops, slow patterns and hanging calls end at the time-out too",
    async check({ run }) {
      for (const code of [
        "await new Promise((r) => setTimeout(r, 60_000))",
        "for (;;) await null",
        "const f = () => Promise.resolve().then(f); await f()",
        '/^(a+)+$/.test("a".repeat(40) + "b")',
        "await tools.test.hang({})",
        "setInterval(() => {}, 1); await new Promise(() => {})",
      ]) {
        const { state, error, wallMs } = await run(code, { timeoutMs: 300 });
        expect([code, state, error?.reason]).toEqual([code, "timeout", "timeout"]);
        expect(wallMs).toBeLessThan(10_000);
      }
    },
  },
  {
    id: "limit.aborts-calls",
    sentence: "a time-out aborts the calls in flight",
    async check({ run }) {
      const ended = await run("await Promise.all([tools.test.hang({}), tools.test.hang({})])", {
        timeoutMs: 300,
      });
      expect(ended.state).toBe("timeout");
      await expect.poll(() => ended.aborted, { timeout: 5000 }).toBe(2);
    },
  },
  {
    id: "limit.no-timeout",
    sentence: "a run without a time-out goes on to its end",
    async check({ run }) {
      const { state, result } = await run("await new Promise((r) => setTimeout(r, 50)); return 1", {
        timeoutMs: null,
      });
      expect([state, result]).toEqual(["success", 1]);
    },
  },
  {
    id: "limit.kill",
    sentence: "kill ends a waiting, a spinning and a calling run promptly, and is silent for an unknown one",
    async check({ start, module }) {
      for (const rest of [
        "await new Promise((r) => setTimeout(r, 60_000))",
        "for (;;) {}",
        "await tools.test.hang({})",
      ]) {
        const running = start(`console.log("up"); ${rest}`);
        await running.printed("up");
        const killedAt = performance.now();
        await Promise.all([running.kill(), running.kill()]);
        const { state, error, stdout } = await running.done;
        expect([rest, state, error?.reason ?? "killed", stdout]).toEqual([
          rest,
          "canceled",
          "killed",
          "up\n",
        ]);
        expect(performance.now() - killedAt).toBeLessThan(5000);
        await running.kill();
      }
      await module.kill(999_999_999);
    },
  },
  {
    id: "limit.kill-early",
    sentence: "a run killed at once is canceled",
    async check({ start }) {
      const running = start("for (;;) {}");
      await running.kill();
      expect((await running.done).state).toBe("canceled");
    },
  },
  {
    id: "limit.memory",
    sentence: "a heap that grows without end fails with memory_limit; what was printed before is kept",
    async check({ run }) {
      const { state, error, stdout } = await run(
        'console.log("before"); const hold = []; for (;;) hold.push(new Array(10_000).fill({}));',
        { memoryMb: 64 },
      );
      expect([state, error?.reason, stdout]).toEqual(["failed", "memory_limit", "before\n"]);
      expect(error?.message).toMatch(/64/);
    },
  },
  {
    id: "limit.memory-buffers",
    sentence: "buffers outside of the heap are limited too",
    async check({ run }) {
      const { state, error } = await run(
        "const hold = []; for (;;) { hold.push(new Uint8Array(8 * 1024 * 1024).fill(1)); await null; }",
        { memoryMb: 64 },
      );
      expect([state, error?.reason]).toEqual(["failed", "memory_limit"]);
      expect(error?.message).toMatch(/64/);
    },
  },
  {
    id: "limit.memory-granted",
    sentence: "a run gets the memory it asks for",
    async check({ run }) {
      const code =
        "const hold = []; for (let i = 0; i < 150; i++) hold.push(new Array(125_000).fill(i + 0.5)); return hold.length";
      const { state, result } = await run(code, { memoryMb: 512 });
      expect([state, result]).toEqual(["success", 150]);
    },
  },
  {
    id: "limit.cpu",
    sentence: "cpuMs limits the time spent computing, not the time spent waiting",
    async check({ run }) {
      const spinning = await run("for (;;) {}", { cpuMs: 500, timeoutMs: 20_000 });
      expect([spinning.state, spinning.error?.reason]).toEqual(["failed", "cpu_limit"]);
      const waiting = await run("await new Promise((r) => setTimeout(r, 1500)); return 1", {
        cpuMs: 1000,
        timeoutMs: 20_000,
      });
      expect([waiting.state, waiting.result]).toEqual(["success", 1]);
    },
  },
  {
    id: "limit.stdout",
    sentence: "a flood of output is cut at the cap, with the first byte beyond it, and the run succeeds",
    async check({ run }) {
      const { state, stdout, stderr, result } = await run(
        'for (let i = 0; i < 20_000; i++) { console.log("x".repeat(100)); console.error("y".repeat(100)); } return "done"',
        { maxStdoutBytes: 10_000, maxStderrBytes: 5_000 },
      );
      expect([state, result]).toEqual(["success", "done"]);
      expect(stdout.length).toBe(10_001);
      expect(stderr.length).toBe(5_001);
    },
  },
  {
    id: "limit.stdout-exact",
    sentence: "output of exactly the cap is whole",
    async check({ run }) {
      const { stdout } = await run('console.log("€".repeat(333))', { maxStdoutBytes: 1000 });
      expect(stdout).toBe(`${"€".repeat(333)}\n`);
    },
  },
  {
    id: "limit.pending-timers",
    sentence: "pending timers do not keep a run alive",
    async check({ run }) {
      const { state, result, wallMs } = await run(
        "setTimeout(() => console.log('late'), 60_000); setInterval(() => {}, 60_000); return 1",
      );
      expect([state, result]).toEqual(["success", 1]);
      expect(wallMs).toBeLessThan(10_000);
    },
  },
  {
    id: "limit.timers-count",
    sentence: "the number of armed timers is bounded",
    async check({ run }) {
      const { result } = await run(
        "try { for (;;) setTimeout(() => {}, 60_000); } catch (e) { return [e.name, e.message]; }",
      );
      expect(result).toEqual(["RangeError", expect.stringMatching(/10000 timers/)]);
    },
  },
  {
    id: "limit.states",
    sentence: "a run reports that it is running, and what it cost",
    async check({ run }) {
      const { states, usage } = await run("let x = 0; for (let i = 0; i < 1e6; i++) x += i; return x");
      expect(states.at(-1)).toBe("running");
      expect(usage.wallMs).toBeGreaterThan(0);
      expect(usage.startMs).toBeGreaterThanOrEqual(0);
      expect(usage.peakMemoryBytes).toBeGreaterThan(0);
      expect(usage.toolCalls).toBe(0);
    },
  },
  {
    id: "limit.concurrent-executes",
    sentence: "twenty executions at once each get their own output, result and calls",
    async check({ run }) {
      const runs = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          run(
            `const { me } = await tools.test.echo({ me: ${index} }); console.log("run", me); cyrnel.output({ me }); return me`,
          ),
        ),
      );
      runs.forEach((ended, index) => {
        expect([ended.state, ended.result, ended.stdout, ended.output, ended.calls.length]).toEqual([
          "success",
          index,
          `run ${index}\n`,
          { me: index },
          1,
        ]);
      });
    },
  },
];
