/** Cases: what a script cannot reach or break, as far as every environment promises it. */
import { expect } from "vitest";
import type { EnvironmentCase } from "../bench.ts";

/** Walks everything reachable from the global object, errors and promises, and counts functions of another realm. */
const SCAN = `
const seen = new Set(); const queue = [globalThis, tools, cyrnel, console.log, (await import("x").catch((e) => e))];
queue.push(await tools.test.fail({ message: "m" }).catch((e) => e), await tools.test.echo({ a: 1 }), tools.a, cyrnel.services.b);
try { (function f() { f(); })(); } catch (e) { queue.push(e); }
try { null.x; } catch (e) { queue.push(e); }
queue.push(tools.test.echo({}), (async () => {})(), setTimeout(() => {}, 1), new AbortController().signal, new URL("http://a/"), crypto.subtle);
let foreign = [], functions = 0;
const isOwn = (f) => { for (let p = f; p !== null; p = Object.getPrototypeOf(p)) if (p === Object.prototype) return true; return Object.getPrototypeOf(f) === null; };
while (queue.length > 0) {
  const value = queue.pop();
  if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) continue;
  seen.add(value);
  if (typeof value === "function") { functions++; if (!isOwn(value) || !(value instanceof Function || value === Function.prototype)) foreign.push(String(value).slice(0, 80)); }
  else if (!isOwn(value)) foreign.push(Object.prototype.toString.call(value));
  try { queue.push(Object.getPrototypeOf(value)); } catch {}
  for (const key of Reflect.ownKeys(value)) {
    const descriptor = Reflect.getOwnPropertyDescriptor(value, key);
    if (descriptor === undefined) continue;
    queue.push(descriptor.get, descriptor.set, descriptor.value);
    if (descriptor.get) { try { const got = value[key]; queue.push(got); if (got instanceof Promise) got.catch(() => {}); } catch (e) { queue.push(e); } }
  }
}
return { foreign, functions };`;

export const isolationCases: EnvironmentCase[] = [
  {
    id: "isolation.scan",
    sentence: "every function and object reachable from a script is of the script's own realm",
    async check({ run }) {
      const { result, error } = await run(SCAN);
      expect(error).toBeUndefined();
      expect(result.functions).toBeGreaterThan(800);
      expect(result.foreign).toEqual([]);
    },
  },
  {
    id: "isolation.constructors",
    sentence: "no constructor walk leads out",
    async check({ run }) {
      const { result } = await run(`
        const roots = [console.log, tools, tools.x, cyrnel.output, setTimeout, setTimeout(() => {}, 1), fetch, new Error("x"), Promise.resolve(), globalThis,
          await tools.test.echo({}), (() => {}), [].map, crypto, URL, Symbol, new Proxy({}, {})];
        return roots.map((root) => { try { const made = root.constructor.constructor("return process"); made?.catch?.(() => {}); return typeof made(); } catch (e) { return e instanceof EvalError || e instanceof TypeError; } });`);
      expect(new Set(result)).toEqual(new Set([true]));
    },
  },
  {
    id: "isolation.stacks",
    sentence: "call sites are out of reach and stacks show the script only",
    async check({ run }) {
      const { result } = await run(`
        let caught = 0;
        try { Error.prepareStackTrace = (e, sites) => { caught++; return sites; }; } catch {}
        try { Object.defineProperty(Error, "prepareStackTrace", { value: (e, sites) => { caught++; return sites; } }); } catch {}
        try { globalThis.Error = { prepareStackTrace: (e, sites) => { caught++; return sites; } }; } catch {}
        const captured = {}; Error.captureStackTrace(captured);
        const fromCall = await tools.test.fail({ message: "x" }).catch((e) => e.stack);
        const fromTimer = await new Promise((r) => setTimeout(() => r(new Error("t").stack), 1));
        let overflow; try { (function f() { f(); })(); } catch (e) { overflow = e.stack; }
        const stacks = [new Error("a").stack, captured.stack, fromCall, fromTimer, overflow];
        return { caught, types: stacks.map((s) => typeof s), foreign: stacks.flatMap((s) => s.split("\\n").filter((l) => /^ +at /.test(l) && !l.includes("script.ts:"))) };`);
      expect(result).toEqual({ caught: 0, types: Array(5).fill("string"), foreign: [] });
    },
  },
  {
    id: "isolation.overflow",
    sentence:
      "running out of stack inside a call, a print or a timer is a RangeError of the script's realm, and the run goes on",
    async check({ run }) {
      const { state, result, error } = await run(`
        const names = new Set();
        const deepen = (act) => { let depth = 0; const f = () => { depth++; try { f(); } catch (e) { if (depth-- % 7 === 0) act(); throw e; } }; try { f(); } catch (e) { names.add(e instanceof RangeError); } };
        deepen(() => { try { console.log("x"); } catch (e) { names.add(e instanceof RangeError); } });
        deepen(() => { try { clearTimeout(setTimeout(() => {}, 1)); } catch (e) { names.add(e instanceof RangeError); } });
        deepen(() => { try { cyrnel.output({ a: 1 }); } catch (e) { names.add(e instanceof RangeError); } });
        let calls = 0;
        deepen(() => { if (calls++ < 50) tools.test.echo({ a: 1 }).catch((e) => names.add(e instanceof RangeError)); });
        await tools.test.echo({ after: 1 });
        return [...names];`);
      expect([state, error]).toEqual(["success", undefined]);
      expect(result).toEqual([true]);
    },
  },
  {
    id: "isolation.callee",
    sentence: "functions of the realm do not tell their callers and accept no odd receivers",
    async check({ run }) {
      const { result } = await run(`
        const attempt = (f) => { try { return f(); } catch (e) { return e.name; } };
        return [attempt(() => console.log.caller), attempt(() => console.log.arguments), attempt(() => cyrnel.output.call(null, { a: 1 })),
          attempt(() => new console.log()), attempt(() => new cyrnel.output({})), attempt(() => setTimeout.call({}, () => {}, 1) !== undefined)];`);
      expect(result).toEqual(["TypeError", "TypeError", null, "TypeError", "TypeError", true]);
    },
  },
  {
    id: "isolation.patched",
    sentence:
      "a script may patch every built-in of its realm: messages stay well-formed, only the script is hurt",
    async check({ run }) {
      const { state, result, output, stdout, calls, error } = await run(`
        const evil = () => { throw new Error("patched"); };
        Object.prototype.toJSON = () => "forged"; Array.prototype.toJSON = () => "forged"; String.prototype.toJSON = () => "forged";
        delete Object.prototype.toJSON; delete Array.prototype.toJSON; delete String.prototype.toJSON;
        const { ownKeys, getOwnPropertyDescriptor, defineProperty } = Reflect;
        const targets = [Promise, JSON, Math, Reflect, Object, Array, String, Number, Symbol, Error, Map.prototype, Set.prototype, WeakMap.prototype, WeakSet.prototype,
          String.prototype, Number.prototype, Symbol.prototype, RegExp.prototype, Error.prototype, Promise.prototype, Array.prototype, Function.prototype, Iterator.prototype,
          Object.getPrototypeOf([][Symbol.iterator]()), Object.getPrototypeOf(new Map()[Symbol.iterator]()), Object.getPrototypeOf(""[Symbol.iterator]())];
        let patched = 0;
        for (let t = 0; t < targets.length; t++) {
          const keys = ownKeys(targets[t]);
          for (let k = 0; k < keys.length; k++) {
            const descriptor = getOwnPropertyDescriptor(targets[t], keys[k]);
            if (typeof descriptor.value !== "function" || !descriptor.configurable || keys[k] === "constructor") continue;
            defineProperty(targets[t], keys[k], { value: evil, writable: true, configurable: true }); patched++;
          }
        }
        defineProperty(Promise, Symbol.species, { value: function () { throw new Error("species"); } });
        Promise.prototype.constructor = function () { throw new Error("constructor"); };
        defineProperty(Object.prototype, "error", { value: { message: "forged" }, configurable: true });
        defineProperty(Array.prototype, 0, { set: evil, configurable: true });
        defineProperty(Object.prototype, "get", { value: undefined, configurable: true });
        console.log("text"); console.log("more", { a: [1] }); cyrnel.output({ a: 1, list: [1, 2] });
        tools.test.echo({ x: [1, { y: 2 }] });
        return { b: ["c", 1, null], patched: patched > 200 };`);
      expect([state, error, result]).toEqual(["success", undefined, { b: ["c", 1, null], patched: true }]);
      expect([stdout, output, calls[0]?.parameters]).toEqual([
        "text\nmore { a: [ 1 ] }\n",
        { a: 1, list: [1, 2] },
        { x: [1, { y: 2 }] },
      ]);
    },
  },
  {
    id: "isolation.forged-json",
    sentence: "toJSON, rawJSON, getters and proxies can spoil a value, never a message",
    async check({ run }) {
      const { state, result, output } = await run(`
        Object.prototype.toJSON = function () { return '"},"id":1,"method":"end'; };
        console.log("still"); cyrnel.output({ a: {} });
        delete Object.prototype.toJSON;
        const raw = JSON.rawJSON("123");
        const proxy = new Proxy({ a: 1 }, { ownKeys: () => ["a", 'x","y'], getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }), get: (t, k) => (k === "toJSON" ? undefined : k) });
        return { raw, proxy, "k\\"},{": "\\\\\\"" };`);
      expect(state).toBe("success");
      expect(output).toEqual({ a: '"},"id":1,"method":"end' });
      expect(result).toEqual({ raw: 123, proxy: { a: "a", 'x","y': 'x","y' }, 'k"},{': '\\"' });
    },
  },
  {
    id: "isolation.prototype-keys",
    sentence: "__proto__ keys neither pollute the host nor the script",
    async check({ run }) {
      const { state, result } = await run(`
        const value = JSON.parse('{"__proto__": {"polluted": 1}, "ok": 1}');
        cyrnel.output(value); const echoed = await tools.test.echo(value);
        return [({}).polluted === undefined, echoed.polluted === undefined, echoed.ok, "__proto__" in Object.prototype, value.ok];`);
      expect(state).toBe("success");
      expect(result).toEqual([true, true, 1, false, 1]);
      expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    },
  },
  {
    id: "isolation.thenables",
    sentence: "a returned thenable gets functions of the script's realm only",
    async check({ run }) {
      const { result } = await run(
        "return { then(resolve, reject) { resolve([resolve instanceof Function, reject instanceof Function, resolve.constructor === Function]); } }",
      );
      expect(result).toEqual([true, true, true]);
    },
  },
  {
    id: "isolation.no-shared-state",
    sentence: "nothing a run leaves behind is there for the next",
    async check({ run }) {
      const code = `
        const before = [globalThis.left, Array.prototype.left, Symbol.for("x").description, cyrnel.output.left, tools.left.then];
        globalThis.left = 1; Array.prototype.left = 2; console.log.left = 3; try { cyrnel.output.left = 4; } catch {}
        return before.map((value) => value ?? null);`;
      for (let index = 0; index < 4; index++) {
        const { result } = await run(code);
        expect(result).toEqual([null, null, "x", null, null]);
      }
    },
  },
  {
    id: "isolation.late-writers",
    sentence: "nothing a script does after its end reaches its records",
    async check({ run }) {
      const ended = await run(`
        setTimeout(() => { console.log("late"); cyrnel.output({ late: 1 }); }, 0);
        setImmediate(() => console.log("late")); (async () => { for (;;) { await null; } });
        return 1;`);
      expect(ended.result).toBe(1);
      const { stdout } = ended;
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(ended.stdout).toBe(stdout);
    },
  },
];
