/** Cases: how a run fails. */
import { expect } from "vitest";
import type { EnvironmentCase } from "../bench.ts";

export const errorCases: EnvironmentCase[] = [
  {
    id: "error.thrown",
    sentence: "a thrown error gives name, message and a stack in submitted positions",
    async check({ run }) {
      const { state, error, hasResult } = await run(
        'class QuotaError extends Error { name = "QuotaError" }\nfunction inner(): never {\n  throw new QuotaError("too much");\n}\nconst outer = () => inner();\nouter();',
      );
      expect([state, hasResult]).toEqual(["failed", false]);
      expect(error).toMatchObject({
        name: "QuotaError",
        message: "too much",
        reason: "script_error",
        line: 3,
        column: 9,
      });
      expect(error?.stack).toBe(
        "QuotaError: too much\n    at inner (script.ts:3:9)\n    at outer (script.ts:5:21)\n    at script.ts:6:1".replace(
          "QuotaError: too much",
          error?.stack?.split("\n")[0] ?? "",
        ),
      );
    },
  },
  {
    id: "error.any-value",
    sentence: "whatever is thrown becomes a description, never a crash",
    async check({ run }) {
      const cases: [string, RegExp][] = [
        ['throw "text"', /^text$/],
        ["throw null", /^null$/],
        ["throw undefined", /^undefined$/],
        ["throw 42n", /^42$/],
        ['throw Symbol("s")', /^Symbol\(s\)$/],
        ['throw { message: "like an error", name: "Odd" }', /^like an error$/],
        ["throw { code: 7 }", /object instead of an Error.*"code":7/],
        ["throw () => {}", /function/],
        ["throw Object.create(null)", /object/],
        [
          "throw new Proxy({}, { get() { throw 1 }, ownKeys() { throw 2 }, getPrototypeOf() { throw 3 } })",
          /./,
        ],
        ["throw new Proxy(new Error('x'), { get() { throw 1 } })", /./],
        [
          "const e = new Error('m'); Object.defineProperty(e, 'message', { get() { throw 1 } }); throw e",
          /.*/,
        ],
        [
          "const e = new Error('m'); Object.defineProperty(e, 'stack', { get() { throw 1 } }); throw e",
          /^m$/,
        ],
        ["const e = new Error('m'); e.name = { toString() { throw 1 } }; throw e", /^m$/],
        ["throw { toString() { throw 1 }, toJSON() { throw 2 }, get message() { throw 3 } }", /./],
        ["throw new AggregateError([new Error('one'), new Error('two')])", /2 errors.*one/],
      ];
      for (const [code, message] of cases) {
        const { state, error } = await run(code);
        expect([code, state, error?.reason]).toEqual([code, "failed", "script_error"]);
        expect(error?.message).toMatch(message);
      }
    },
  },
  {
    id: "error.huge",
    sentence: "huge names, messages and stacks are cut",
    async check({ run }) {
      const { error } = await run(
        'const e = new Error("m".repeat(500_000)); e.name = "n".repeat(50_000); throw e',
      );
      expect(error?.name.length).toBeLessThanOrEqual(1000);
      expect(error?.message.length).toBeLessThanOrEqual(100_000);
      expect(error?.stack?.length).toBeLessThanOrEqual(100_000);
    },
  },
  {
    id: "error.cause",
    sentence: "causes are told with the stack",
    async check({ run }) {
      const { error } = await run('throw new Error("outer", { cause: new TypeError("root") })');
      expect(error?.stack).toMatch(
        /Error: outer\n[\s\S]*Caused by: TypeError: root\n {4}at script\.ts:1:\d+/,
      );
    },
  },
  {
    id: "error.unhandled-rejection",
    sentence: "an unhandled rejection fails the run, also one left behind by a script that returns",
    async check({ run }) {
      for (const code of [
        'Promise.reject(new Error("lost")); return 1',
        'Promise.reject(new Error("lost")); await new Promise((r) => setTimeout(r, 500)); return 1',
        '(async () => { await null; throw new Error("lost"); })();\nawait new Promise((r) => setTimeout(r, 500));',
        'void tools.test.fail({ message: "lost" }); await new Promise((r) => setTimeout(r, 2000));',
      ]) {
        const { state, error, hasResult } = await run(code);
        expect([code, state, error?.reason, error?.message, hasResult]).toEqual([
          code,
          "failed",
          "unhandled_rejection",
          expect.stringMatching(
            /^(?:A promise was rejected|tools\.test\.fail \(line 1\) failed), and no code handled it: lost$/,
          ),
          false,
        ]);
        expect(error?.line).toBe(1);
      }
    },
  },
  {
    id: "error.rejected-values",
    sentence: "an unhandled rejection may have any reason",
    async check({ run }) {
      for (const reason of [
        '"text"',
        "null",
        "{ a: 1 }",
        "Symbol('s')",
        "new Proxy({}, { get() { throw 1 } })",
      ]) {
        const { state, error } = await run(
          `Promise.reject(${reason}); await new Promise((r) => setTimeout(r, 500));`,
        );
        expect([reason, state, error?.reason]).toEqual([reason, "failed", "unhandled_rejection"]);
      }
    },
  },
  {
    id: "error.handled-later",
    sentence: "a rejection handled in the same turn does not fail the run",
    async check({ run }) {
      const { state, result } = await run(
        'const p = Promise.reject(new Error("x")); const q = Promise.allSettled([p]); return (await q)[0].status',
      );
      expect([state, result]).toEqual(["success", "rejected"]);
    },
  },
  {
    id: "error.in-callbacks",
    sentence: "an error in a timer, microtask or listener fails the run at its line",
    async check({ run }) {
      for (const code of [
        'setTimeout(() => {\n  throw new Error("cb") }, 1); await new Promise((r) => setTimeout(r, 2000))',
        'setImmediate(() => {\n  throw new Error("cb") }); await new Promise((r) => setTimeout(r, 2000))',
        'queueMicrotask(() => {\n  throw new Error("cb") }); await new Promise((r) => setTimeout(r, 2000))',
        'new AbortController().signal;\nconst t = new EventTarget(); t.addEventListener("x", () => { throw new Error("cb") }); t.dispatchEvent(new Event("x")); await new Promise((r) => setTimeout(r, 2000))',
      ]) {
        const { state, error } = await run(code);
        expect([code, state, error?.reason, error?.message, error?.line]).toEqual([
          code,
          "failed",
          "script_error",
          "cb",
          2,
        ]);
      }
    },
  },
  {
    id: "error.never-settles",
    sentence: "a script that awaits what can never happen fails at once and is told why",
    async check({ run }) {
      const { state, error, wallMs } = await run('console.log("before"); await new Promise(() => {})', {
        timeoutMs: 15_000,
      });
      expect([state, error?.reason]).toEqual(["failed", "script_error"]);
      expect(error?.message).toMatch(/never happen/);
      expect(wallMs).toBeLessThan(10_000);
    },
  },
  {
    id: "error.globals-of-node",
    sentence: "a script that ends at a global of Node's is told how to get at what it is for",
    async check({ run }) {
      for (const [code, says] of [
        [
          "Buffer.from('x')",
          'Buffer is not defined: import { Buffer } from "node:buffer", or use Uint8Array.',
        ],
        [
          "await Promise.reject(await (async () => process.env.KEY)().catch((error) => error))",
          "process is not defined: what a script is given is in cyrnel.input, and there are no environment variables.",
        ],
        ["Other.from('x')", "Other is not defined"],
        ["throw Object.assign(new ReferenceError('toString'))", "toString"],
      ] as const) {
        expect((await run(code)).error).toMatchObject({ name: "ReferenceError", message: says });
      }
      expect((await run("return [typeof Buffer, typeof process]")).result).toEqual([
        "undefined",
        "undefined",
      ]);
    },
  },
  {
    id: "error.import",
    sentence: "import() rejects with an error of the script's own realm that names what to use",
    async check({ run }) {
      for (const specifier of [
        '"node:os"',
        '"axios"',
        '"./x.js"',
        '"data:text/javascript,1"',
        '["node", "os"].join(":")',
      ]) {
        const { result } = await run(`
          const e = await import(${specifier}).catch((e) => e);
          let escaped; try { escaped = e.constructor.constructor("return process")(); } catch (x) { escaped = x instanceof EvalError; }
          return [e instanceof Error, Object.getPrototypeOf(e) === Error.prototype, escaped, e.message];`);
        expect(result.slice(0, 3)).toEqual([true, true, true]);
        expect(result[3]).toMatch(specifier === '"axios"' ? /axios/ : /finds nothing.*tools\.<service>/);
      }
    },
  },
];
