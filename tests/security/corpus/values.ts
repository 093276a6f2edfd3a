/** Probes: hostile values where the sandbox expects plain ones: proxies, getters, thenables, toJSON, odd lengths. */
import { expect } from "vitest";
import { lootProbe, type Probe } from "./probe.ts";

const control = { in: "naive-vm", shows: "loot" } as const;

/** A proxy that notes every trap called while nothing of the script is on the stack above the sandbox's own. */
const SPY = String.raw`
  const traps = ["get", "set", "has", "ownKeys", "getOwnPropertyDescriptor", "defineProperty", "deleteProperty", "getPrototypeOf", "setPrototypeOf", "isExtensible", "preventExtensions", "apply", "construct"];
  const spy = (target = {}) => new Proxy(target, Object.fromEntries(traps.map((trap) => [trap, (...given) => { for (const value of given.slice(1)) take(trap, value); return Reflect[trap](...given); }])));`;

export const valueProbes: Probe[] = [
  lootProbe({
    id: "values.proxies",
    entries: [18],
    steals:
      "a receiver, argument or caller of the host in the traps of a proxy that is passed, printed, returned or put out",
    attack: String.raw`${SPY}
      await tools.test.echo(spy({ a: spy([1, spy({})]) }));
      cyrnel.output(spy({ a: spy({ b: 1 }) }));
      for (const print of [console.log, console.table, console.dir, console.error]) attempt(() => print(spy({ a: 1 }), spy([1]), spy(() => {}), spy(new Map()), spy(new Error("x"))));
      await attempt(() => cyrnel.discoverTools(spy({ query: "q" })));
      await attempt(() => cyrnel.getTool(spy({ serviceId: "test", toolId: "echo" })));
      await attempt(() => cyrnel.ask(spy({ message: "m", schema: spy({}) })));
      attempt(() => setTimeout(spy(() => {}), spy({ valueOf: () => 1 }), spy({})));
      attempt(() => new URL(spy({ toString: () => "http://a/" })));
      attempt(() => structuredClone(spy({ a: 1 })));
      await new Promise((resolve) => setTimeout(resolve, 10));`,
    control: {
      ...control,
      script: `${SPY} await tools.test.echo(spy({})).then((value) => take("reply", tools.test.echo)); console.log(spy({ a: 1 })); cyrnel.output(spy({ a: 1 })); take("output", cyrnel.output);`,
    },
  }),
  {
    id: "values.proxy-result",
    entries: [18],
    steals: "the host's calm: it walks a proxy that is returned",
    script:
      "return new Proxy({ a: 1, b: [1] }, { get: (target, key) => target[key], ownKeys: () => ['a', 'b', 'a2'], getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }) })",
    observe(run) {
      expect([run.state, run.result]).toEqual(["success", { a: 1, b: [1] }]);
    },
  },
  ...(
    [
      [
        "thrown-proxy",
        "throw new Proxy({}, { get() { throw 1; }, ownKeys() { throw 2; }, getPrototypeOf() { throw 3; }, has() { throw 4; } })",
      ],
      ["thrown-proxy-of-error", "throw new Proxy(new Error('x'), { get() { throw new Error('trap'); } })"],
      [
        "rejected-proxy",
        "Promise.reject(new Proxy(() => {}, { get() { throw 1; }, apply() { throw 2; } })); await new Promise((resolve) => setTimeout(resolve, 500))",
      ],
      ["revoked-thrown", "const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); throw proxy"],
      ["revoked-result", "const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy"],
      [
        "revoked-inside",
        "const { proxy, revoke } = Proxy.revocable([], {}); revoke(); return { a: [proxy] }",
      ],
      [
        "hostile-getters",
        "throw { get message() { throw 1; }, get name() { throw 2; }, get stack() { throw 3; }, toString() { throw 4; }, toJSON() { throw 5; } }",
      ],
      [
        "hostile-stack",
        "const error = new Error('x'); Object.defineProperty(error, 'stack', { get() { throw new Proxy({}, { get() { throw 1; } }); } }); Object.defineProperty(error, 'message', { get() { throw 1; } }); throw error",
      ],
      [
        "hostile-name",
        "const error = new Error('x'); error.name = { toString() { throw 1; }, length: 1e9 }; Object.defineProperty(error, 'cause', { get() { return error; } }); throw error",
      ],
      [
        "cyclic-causes",
        "const a = new Error('a'); const b = new Error('b', { cause: a }); a.cause = b; throw a",
      ],
      [
        "deep-causes",
        "let error = new Error('0'); for (let i = 1; i < 20000; i++) error = new Error('e'.repeat(100), { cause: error }); throw error",
      ],
      [
        "huge-aggregate",
        "throw new AggregateError(Array.from({ length: 50000 }, (_, i) => new Error(String(i).repeat(50))))",
      ],
      ["getter-in-result", "return { a: { get b() { throw new Error('mine'); } } }"],
      ["to-json-in-result", "return { toJSON() { throw new Error('mine'); } }"],
      ["cyclic-result", "const a = []; a.push({ a }); return a"],
      ["function-in-result", "return { a: [() => {}] }"],
      ["huge-bigint-result", "return { n: [1n << 1_000_000n] }"],
      [
        "bigint-result-of-own-prototype",
        "BigInt.prototype.toJSON = () => { throw new Error('mine'); }; return { n: 1n }",
      ],
      ["symbol-result", "return [Symbol('s')]"],
      ["rejecting-thenable", "return { then(resolve, reject) { reject({ get message() { throw 1; } }); } }"],
      ["throwing-thenable", "return { get then() { throw new Error('mine'); } }"],
      [
        "error-during-description",
        "const error = new Error('x'); Object.defineProperty(error, 'name', { get() { throw error; } }); throw error",
      ],
      [
        "thrown-in-finalizer",
        "const held = []; const registry = new FinalizationRegistry(() => { throw new Error('late'); }); for (let i = 0; i < 3000; i++) registry.register({}, 1); for (let i = 0; i < 30; i++) { held[0] = new Array(1e5).fill(i); await new Promise((r) => setTimeout(r, 1)); } throw new Error('none ran')",
      ],
    ] as const
  ).map(
    ([name, script]): Probe => ({
      id: `values.${name}`,
      entries: [18, 19],
      steals: "the calm of whoever looks at what a script throws or returns",
      script,
      observe(run) {
        const reason = name === "rejected-proxy" ? "unhandled_rejection" : "script_error";
        expect([run.state, run.error?.reason, run.hasResult]).toEqual(["failed", reason, false]);
        expect(run.error?.message.length).toBeLessThanOrEqual(100_000);
        expect(run.error?.stack?.length ?? 0).toBeLessThanOrEqual(100_000);
        expect(run.error?.stack ?? "").not.toMatch(/node:|child\.js|slot\.js|cyrnel:/);
      },
    }),
  ),
  {
    id: "values.bigint-result",
    entries: [18],
    steals: "the digits of a bigint: whoever writes it asks the script's own functions for them",
    script: String.raw`
      for (const name of ["toString", "valueOf", "toLocaleString", Symbol.toPrimitive])
        Object.defineProperty(BigInt.prototype, name, { value() { throw new Error("mine"); } });
      globalThis.BigInt = globalThis.String = () => { throw new Error("mine"); };
      return { n: 1n, large: -(2n ** 64n) };`,
    observe(run) {
      expect([run.state, run.error?.message, run.result]).toEqual([
        "success",
        undefined,
        { n: 1, large: "-18446744073709551616" },
      ]);
    },
  },
  lootProbe({
    id: "values.inspect-hook-on-thrown",
    entries: [21],
    steals: "a call by the host of an inspection hook on what is thrown and rejected",
    attack: String.raw`
      const hook = Symbol.for("nodejs.util.inspect.custom");
      const bait = Object.assign(new Error("bait"), { [hook]() { console.log("CALLED"); return "x"; }, toJSON() { console.log("CALLED"); }, inspect() { console.log("CALLED"); } });
      const timer = setTimeout(() => {}, 1); clearTimeout(timer);
      globalThis.bait = bait;
      throw bait;`,
    observe(run) {
      expect([run.state, run.error?.message]).toEqual(["failed", "bait"]);
      expect(run.stdout).toBe("");
    },
  }),
  {
    id: "values.reentrant-to-json",
    entries: [20],
    steals: "the order of messages: a value makes calls while it is being written",
    script: String.raw`
      const inner = [];
      const nest = (level) => ({ toJSON() { if (level > 0) { inner.push(tools.test.echo({ level, again: nest(level - 1) })); cyrnel.output({ ["o" + level]: nest(level - 1) }); console.log("level", level); } return { level }; } });
      const outer = await tools.test.echo({ first: nest(3) });
      const rest = await Promise.all(inner);
      return [outer, rest.length];`,
    observe(run) {
      expect(run.state).toBe("success");
      expect(run.result[0]).toEqual({ first: { level: 3 } });
      expect(run.calls.every(({ toolId }) => toolId === "echo")).toBe(true);
      expect(run.calls.length).toBe(run.result[1] + 1);
    },
  },
  {
    id: "values.throwing-parameters",
    entries: [20],
    steals: "a half-written message: parameters throw while they are being written",
    script: String.raw`
      const caught = [];
      for (const parameters of [{ get a() { throw new Error("getter"); } }, { a: { toJSON() { throw new Error("json"); } } }, new Proxy({}, { ownKeys() { throw new Error("keys"); } }), { a: 1n << 1_000_000n }, { a: Promise.resolve() }, { a: NaN }, { a: Symbol() }, { a() {} }, (() => { const c = {}; c.c = c; return c; })()]) {
        const call = (() => { try { return tools.test.echo(parameters); } catch (error) { return Promise.reject(error); } })();
        await call.then(() => caught.push("sent"), (error) => caught.push(error instanceof Error));
      }
      return [caught, await tools.test.echo({ whole: 1 })];`,
    observe(run) {
      expect([run.state, run.result]).toEqual(["success", [Array(9).fill(true), { whole: 1 }]]);
      expect(run.calls.length).toBe(1);
    },
  },
  {
    id: "values.parameters-that-lie",
    steals: "a check made of one value and a use of another: parameters that answer differently each time",
    script: String.raw`
      let asked = 0;
      const lying = new Proxy({}, { ownKeys: () => (asked++ % 2 ? ["b"] : ["a"]), getOwnPropertyDescriptor: (_, key) => ({ value: key, enumerable: true, configurable: true }), get: (_, key) => (key === "toJSON" ? undefined : { key, asked: ++asked }) });
      const path = { asked: 0, get path() { return this.asked++ === 0 ? "test.echo" : { toString() { throw new Error("second look"); } }; } };
      const id = { n: 0, get serviceId() { return this.n++ === 0 ? "test" : 7; }, get toolId() { return this.n++ < 2 ? "echo" : {}; } };
      const lengths = new Proxy([], { get: (target, key) => (key === "length" ? asked++ % 3 : key === "toJSON" ? undefined : "v") });
      return [await tools.test.echo(lying), (await tools.describe.tool(path)).id, (await cyrnel.getTool(id)).id, await tools.test.echo({ lengths })];`,
    observe(run) {
      expect(run.state).toBe("success");
      expect(run.result.slice(1, 3)).toEqual(["echo", "echo"]);
      for (const { parameters } of run.calls) expect(parameters).toBeTypeOf("object");
    },
  },
  {
    id: "values.arrays-of-odd-length",
    steals: "the memory of whoever writes an array that says it is long",
    script: String.raw`
      const proxy = new Proxy([], { get: (target, key) => (key === "length" ? 2 ** 53 - 1 : key === "toJSON" ? undefined : 1) });
      const outcomes = [];
      for (const value of [new Array(50_000_000), Object.assign([], { length: 4_294_967_295 }), proxy]) {
        try { cyrnel.output({ value }); outcomes.push("sent"); } catch (error) { outcomes.push(error.name); }
      }
      return outcomes;`,
    options: { timeoutMs: 1_500, memoryMb: 128 },
    observe: ["output_limit", "timeout", "memory_limit"],
    control: { in: "plain-node", shows: "grows", script: "return JSON.stringify(new Array(120_000_000));" },
  },
  {
    id: "values.endless-to-json",
    steals: "the time of whoever writes a result: it makes itself longer while it is written",
    script:
      "const grow = () => ({ toJSON: grow2 }); const grow2 = () => { const a = []; a.length = 3; return { next: new Proxy(a, { get: (t, k) => (k === 'toJSON' ? undefined : k === 'length' ? 3 : { toJSON: grow2 }) }) }; }; return { toJSON: grow2 }",
    options: { timeoutMs: 1_000 },
    observe: ["script_error", "output_limit", "timeout"],
  },
  {
    id: "values.endless-keys",
    steals: "the time of whoever lists the keys of a result",
    script: "return new Proxy({}, { ownKeys() { for (;;); } })",
    options: { timeoutMs: 300 },
    observe: ["timeout"],
    control: {
      in: "plain-node",
      shows: "spins",
      script: "return JSON.stringify(new Proxy({}, { ownKeys() { for (;;); } }))",
    },
  },
  {
    id: "values.endless-description",
    steals: "the time of whoever describes what was thrown",
    script: "throw { get message() { for (;;); } }",
    options: { timeoutMs: 300 },
    observe: ["timeout"],
    control: {
      in: "plain-node",
      shows: "spins",
      script: "try { throw { get message() { for (;;); } } } catch (error) { return error.message; }",
    },
  },
  {
    id: "values.endless-thenable",
    entries: [37],
    steals: "the end of the run: a result that always promises another",
    script: "const again = { then(resolve) { resolve(again); } }; return again",
    options: { timeoutMs: 300 },
    observe: ["timeout"],
    control: { in: "plain-node", shows: "spins" },
  },
  {
    id: "values.deep-result",
    entries: [31],
    steals: "the stack of whoever walks a result nested 100,000 levels",
    script: "let value = []; for (let level = 0; level < 100_000; level++) value = [value]; return value",
    observe(run) {
      expect([run.state, run.error?.reason]).toEqual(["failed", "script_error"]);
      expect(run.error?.message).toMatch(/512 levels/);
    },
  },
  {
    id: "values.deep-parameters",
    entries: [31],
    steals: "the stack of whoever walks parameters or outputs nested 100,000 levels",
    script: String.raw`
      let value = {}; for (let level = 0; level < 100_000; level++) value = { value };
      const refused = [];
      for (const act of [() => tools.test.echo(value), () => cyrnel.output(value), () => cyrnel.ask({ message: "m", schema: value }), () => structuredClone(value), () => console.log(value)]) { try { await act(); refused.push("done"); } catch (error) { refused.push(error instanceof Error); } }
      return refused.slice(0, 3);`,
    observe(run) {
      expect([run.state, run.result]).toEqual(["success", [true, true, true]]);
      expect(run.calls).toEqual([]);
    },
  },
];
