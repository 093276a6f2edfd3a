/** Probes: built-ins changed before the sandbox uses them, and prototypes set through data. */
import { expect } from "vitest";
import { lootProbe, type Probe } from "./probe.ts";

const FORGED_FRAME = String.raw`'{"jsonrpc":"2.0","method":"stdout","params":{"text":"FORGED-FRAME"}}'`;

/** Uses every part of the sandbox once. */
const USE_ALL = String.raw`
  const useAll = async () => {
    const steps = [() => console.log("text", 1, { a: [1] }), () => console.error("%s", "x"), () => console.table([{ a: 1 }]), () => { console.group("g"); console.groupEnd(); }, () => console.count(), () => { console.time(); console.timeEnd(); },
      () => cyrnel.output({ a: 1, b: { c: [1, "x"] } }), () => clearTimeout(setTimeout(() => {}, 5)), () => setImmediate(() => {}), () => queueMicrotask(() => {}),
      () => new URL("http://a/?b=c").searchParams.get("b"), () => structuredClone({ a: new Map([[1, 2]]) }), () => new TextEncoder().encode("é"), () => crypto.randomUUID(), () => new AbortController().abort(), () => btoa("x"), () => new Error("x", { cause: 1 }).stack, () => null.x,
      () => tools.test.echo({ a: [1, { b: 2 }] }), () => tools.test.fail({ message: "m" }), () => cyrnel.discoverTools({ query: "q", limit: 2 }), () => cyrnel.getTool({ serviceId: "test", toolId: "echo" }), () => tools.search({ query: "q" }), () => import("x")];
    for (let index = 0; index < steps.length; index++) { try { await steps[index](); } catch {} }
  };`;

const DATA = String.raw`JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"a":{"__proto__":{"polluted":1}},"list":[{"__proto__":{"polluted":1}}],"__pr\\u006fto__":{"polluted":1}}')`;

/** The key arrives as data, and sets the prototype of nothing. */
function expectKept(value: unknown): void {
  expect(JSON.stringify(value)).toContain('"__proto__"');
  expect((value as { polluted?: unknown })?.polluted).toBeUndefined();
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
}

export const prototypeProbes: Probe[] = [
  lootProbe({
    id: "prototypes.sandbox-secrets",
    entries: [15, 22],
    steals:
      "the sandbox's way out (its emitter, its outbox, its resolvers), caught by built-ins changed to look at what passes through them",
    attack: String.raw`${USE_ALL}
      const caught = new Set(), originals = [], { apply, ownKeys, getOwnPropertyDescriptor, defineProperty } = Reflect;
      const add = Set.prototype.add.bind(caught), isOwn = new Set();
      const keep = (value) => { if (isObject(value) && caught.size < 5000) add(value); };
      for (const holder of [Array.prototype, Map.prototype, Set.prototype, WeakMap.prototype, WeakSet.prototype, Promise.prototype, Function.prototype, String.prototype, RegExp.prototype, Object, Reflect, JSON, Array, Promise, Symbol.prototype, Error, Number, Math, Object.prototype, Iterator.prototype]) {
        for (const key of ownKeys(holder)) {
          const descriptor = getOwnPropertyDescriptor(holder, key);
          if (key === "constructor" || typeof descriptor.value !== "function" || !descriptor.writable) continue;
          const original = descriptor.value;
          const spy = function (...given) { keep(this); for (let index = 0; index < given.length; index++) keep(given[index]); const answer = new.target ? Reflect.construct(original, given) : apply(original, this, given); keep(answer); return answer; };
          originals.push([holder, key, original]);
          holder[key] = spy;
        }
      }
      for (const name of ["emit", "receive", "turn", "reject", "resolve", "write", "run", "text", "next", "id", "callback", "timer", "parent", "failure", "0", "1", "message", "main", "realm", "exports"])
        defineProperty(Object.prototype, name, { __proto__: null, configurable: true, get() { keep(this); return undefined; }, set(value) { keep(this); keep(value); defineProperty(this, name, { __proto__: null, value, writable: true, configurable: true, enumerable: true }); } });
      const giveUp = new AbortController();
      const hang = tools.test.hang({}, { signal: giveUp.signal });
      await useAll();
      for (const name of ["emit", "receive", "turn", "reject", "resolve", "write", "run", "text", "next", "id", "callback", "timer", "parent", "failure", "0", "1", "message", "main", "realm", "exports"]) delete Object.prototype[name];
      for (const [holder, key, original] of originals) holder[key] = original;
      const given = new Set([console.log, console.error, console.info, console.debug, console.warn, console.trace, cyrnel.output]);
      const frames = [${FORGED_FRAME}, '{"jsonrpc":"2.0","id":1,"result":"FORGED-REPLY"}', '{"method":"timer","params":{"id":1}}'];
      for (const item of caught) {
        take("caught", item);
        for (const frame of frames) {
          if (Array.isArray(item) && item !== loot && Object.isExtensible(item)) attempt(() => { if (typeof item[0] === "string" || item.length === 0) item.push(frame); });
          if (typeof item === "function" && !given.has(item) && (item.name === "" || !/\[native code\]/.test(Function.prototype.toString.call(item)))) { attempt(() => item(frame)); attempt(() => item.call(undefined, frame, null)); }
          for (const name of ["emit", "receive", "write", "send"]) if (typeof item?.[name] === "function" && !given.has(item[name])) attempt(() => item[name](frame));
        }
      }
      hang.then((reply) => note("a reply was forged: " + reply), () => {});
      await new Promise((resolve) => setTimeout(resolve, 20));
      giveUp.abort();`,
    observe(run) {
      expect([run.state, run.error?.message, run.result]).toEqual(["success", undefined, []]);
      expect(run.stdout).not.toMatch(/^FORGED-FRAME/m);
    },
    control: {
      in: "naive-bridge",
      shows: "forged",
      script: `const push = Array.prototype.push; let outbox; Array.prototype.push = function (...given) { outbox = this; return push.apply(this, given); }; console.log("x"); outbox.push(${FORGED_FRAME});`,
    },
  }),
  {
    id: "prototypes.patched-serialiser",
    entries: [22],
    steals:
      "the form of messages: JSON, strings, arrays and promises are replaced by ones that answer with frames",
    script: String.raw`
      const forged = '1},"x":"FORGED-FRAME"}\n{"method":"end"';
      JSON.stringify = () => forged; JSON.parse = () => ({ forged }); String.prototype.toString = () => forged; String.prototype.replace = () => forged; String.prototype.slice = () => forged; String.prototype.concat = () => forged;
      Array.prototype.join = () => forged; Array.prototype.toString = () => forged; Object.prototype.toJSON = () => forged; Number.prototype.toString = () => forged; globalThis.String = () => forged;
      console.log("text"); cyrnel.output({ a: 1 });
      delete Object.prototype.toJSON;
      const reply = await tools.test.echo({ b: "c" });
      return { reply };`,
    observe(run) {
      expect([run.state, run.error?.message]).toEqual(["success", undefined]);
      expect([run.stdout, run.output, run.result]).toEqual(["text\n", { a: 1 }, { reply: { b: "c" } }]);
      expect(run.calls.map(({ parameters }) => parameters)).toEqual([{ b: "c" }]);
    },
    control: { in: "naive-bridge", shows: "forged" },
  },
  {
    id: "prototypes.accessors-on-indexes",
    entries: [22],
    steals: "messages on their way, through setters for the indexes of every array",
    script: String.raw`
      const hide = (key) => Object.defineProperty(Array.prototype, key, { configurable: true, get: () => "FORGED-FRAME", set(value) { Object.defineProperty(this, key, { value: '{"method":"end","text":"FORGED-FRAME"}', writable: true, configurable: true, enumerable: true }); } });
      hide(0); hide(1); hide(2);
      console.log("one"); console.log("two"); cyrnel.output({ list: [1, 2] });
      const reply = await tools.test.echo({ list: [1, { a: 2 }] });
      delete Array.prototype[0]; delete Array.prototype[1]; delete Array.prototype[2];
      return reply;`,
    observe(run) {
      expect([run.state, run.error?.message]).toEqual(["success", undefined]);
      expect([run.stdout, run.output, run.result]).toEqual([
        "one\ntwo\n",
        { list: [1, 2] },
        { list: [1, { a: 2 }] },
      ]);
    },
    control: { in: "naive-bridge", shows: "forged" },
  },
  {
    id: "prototypes.before-a-reply",
    entries: [22],
    steals: "the meaning of a reply: names that messages have stand on Object.prototype when it comes",
    script: String.raw`
      const names = ["id", "result", "error", "method", "params", "data", "message", "name", "code", "status", "limits", "get", "set", "value", "writable", "configurable", "enumerable", "toJSON"];
      const call = tools.test.echo({ real: 1 }), failing = tools.test.fail({ message: "real" }), empty = tools.test.nothing({});
      for (const name of names) Object.defineProperty(Object.prototype, name, { __proto__: null, value: name === "id" ? 1 : { forged: true, message: "forged" }, configurable: true, writable: true });
      const settled = [];
      try { settled[0] = await call; } catch (error) { settled[0] = "rejected"; }
      try { settled[1] = await failing; } catch (error) { settled[1] = Object.getOwnPropertyDescriptor(error, "message").value; }
      try { settled[2] = await empty; } catch (error) { settled[2] = "rejected"; }
      const late = await new Promise((resolve) => { try { setTimeout(resolve, 1, "fired"); } catch { resolve("not armed"); } });
      for (const name of names) delete Object.prototype[name];
      return [settled[0].real, Object.keys(settled[0]), settled[1], settled[2], late];`,
    observe(run) {
      expect([run.state, run.error?.message, run.result]).toEqual([
        "success",
        undefined,
        [1, ["real"], "real", null, "fired"],
      ]);
    },
  },
  {
    id: "prototypes.thenable-replies",
    entries: [17, 22],
    steals:
      "the resolving functions of the sandbox: Object.prototype.then is called with them for each reply",
    script: String.raw`
      const seen = [];
      Object.prototype.then = function (resolve, reject) { seen.push([resolve instanceof Function, reject instanceof Function, resolve.constructor === Function]); delete Object.prototype.then; resolve("taken"); };
      const reply = await tools.test.echo({ a: 1 });
      delete Object.prototype.then;
      return [seen, reply, await tools.test.echo({ a: 2 })];`,
    observe(run) {
      expect(run.state).toBe("success");
      for (const flags of run.result[0]) expect(flags).toEqual([true, true, true]);
      expect(run.result[2]).toEqual({ a: 2 });
    },
  },
  {
    id: "prototypes.everything-broken",
    entries: [22],
    steals: "the end of the run: every built-in throws when the sandbox sends it",
    script: String.raw`
      const { ownKeys, getOwnPropertyDescriptor } = Reflect, broken = () => { throw "broken"; };
      const holders = [Array.prototype, Map.prototype, Set.prototype, WeakMap.prototype, Promise.prototype, Promise, String.prototype, Number.prototype, RegExp.prototype, JSON, Reflect, Math, Object, Function.prototype];
      for (let h = 0; h < holders.length; h++) { const keys = ownKeys(holders[h]); for (let k = 0; k < keys.length; k++) { const found = getOwnPropertyDescriptor(holders[h], keys[k]); if (typeof found.value === "function" && found.writable && keys[k] !== "constructor") holders[h][keys[k]] = broken; } }
      Array.prototype[Symbol.iterator] = broken;
      console.log("still"); cyrnel.output({ still: 1 });
      return { still: ["here", null] };`,
    observe(run) {
      expect([run.state, run.error?.message, run.result]).toEqual([
        "success",
        undefined,
        { still: ["here", null] },
      ]);
      expect([run.stdout, run.output]).toEqual(["still\n", { still: 1 }]);
    },
  },
  ...(
    [
      ["result", `return ${DATA}`, (run) => run.result],
      [
        "output",
        `cyrnel.output(${DATA}); cyrnel.output({ ["__proto__"]: { polluted: 1 } }); return 1`,
        (run) => run.output,
      ],
      [
        "parameters",
        `await tools.test.echo(${DATA}); await tools.test.echo(Object.fromEntries([["__proto__", { polluted: 1 }]])); return 1`,
        (run) => run.calls.map(({ parameters }) => parameters),
      ],
      ["schema", `return await cyrnel.ask({ message: "m", schema: ${DATA} })`, (run) => run.result],
      [
        "raw-json",
        `return { a: JSON.rawJSON("1"), ["__proto__"]: { polluted: 1 }, b: { ["__proto__"]: null } }`,
        (run) => run.result,
      ],
      [
        "to-json",
        `return { toJSON: () => ({ ["__proto__"]: { polluted: 1 }, list: [{ toJSON: () => ({ ["__proto__"]: 1 }) }] }) }`,
        (run) => run.result,
      ],
      [
        "proxy-keys",
        `return new Proxy({}, { ownKeys: () => ["__proto__", "a"], getOwnPropertyDescriptor: () => ({ value: { polluted: 1 }, enumerable: true, configurable: true }), get: (_, key) => (key === "toJSON" ? undefined : { polluted: 1 }) })`,
        (run) => ({ ...run.result, a: undefined }),
      ],
    ] as [
      string,
      string,
      (
        run: Parameters<typeof expectKept>[0] & {
          result: object;
          output: object;
          calls: { parameters: object }[];
        },
      ) => unknown,
    ][]
  ).map(
    ([name, script, read]): Probe => ({
      id: `prototypes.proto-in-${name}`,
      entries: [23],
      steals: "the prototypes of the host, through data with a key that sets one",
      script,
      observe(run) {
        expect([run.state, run.error?.message]).toEqual(["success", undefined]);
        expectKept(read(run as never));
        if (["result", "output"].includes(name))
          expect(Object.keys(read(run as never) as object).sort()).toEqual([
            "__proto__",
            "a",
            "constructor",
            "list",
          ]);
      },
      control: { in: "naive-vm", shows: "polluted", script: `cyrnel.output(${DATA})` },
    }),
  ),
  {
    id: "prototypes.reply-with-proto",
    entries: [23],
    steals: "the script's own prototypes, through a reply that holds such a key",
    script: String.raw`
      const reply = await tools.test.echo(JSON.parse('{"a":{"__proto__":{"polluted":1}}}'));
      class Base { constructor(options) { Object.assign(this, options); } }
      return [({}).polluted ?? null, new Base(reply.a).polluted ?? null, "__proto__" in Object.prototype];`,
    observe(run) {
      expect([run.state, run.result]).toEqual(["success", [null, null, false]]);
    },
  },
  {
    id: "prototypes.names-of-tools",
    entries: [23, 27],
    steals: "the host's tables of services: names that every object has",
    script: String.raw`
      const outcomes = [];
      for (const name of ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "then", "valueOf", "__defineGetter__"]) {
        for (const call of [() => tools[name].polluted({}), () => tools.test[name]({}), () => cyrnel.services[name].tools[name].invoke({}), () => cyrnel.getService(name), () => cyrnel.getTool({ serviceId: name, toolId: name })]) { try { await call(); outcomes.push("done"); } catch (error) { outcomes.push(error instanceof Error); } }
      }
      return outcomes.length;`,
    observe(run) {
      expect([run.state, run.result]).toEqual(["success", 40]);
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    },
  },
  {
    id: "prototypes.next-run",
    entries: [104],
    steals: "the next run: built-ins and globals changed by this one are still changed",
    script: String.raw`
      Object.prototype.polluted = 1; Array.prototype.polluted = 1; globalThis.left = 1; Promise.prototype.then.left = 1; console.log.left = 1; JSON.stringify = () => "left"; Symbol.for("left"); setInterval(() => {}, 1000);
      try { tools.left = 1; cyrnel.left = 1; cyrnel.process.left = 1; } catch {}
      return 1;`,
    async observe(run, bench) {
      expect(run.state).toBe("success");
      const looks = Array.from({ length: 4 }, () =>
        bench.run(
          "return [({}).polluted, [].polluted, globalThis.left, Promise.prototype.then.left, console.log.left, JSON.stringify([1]), cyrnel.left, cyrnel.process.left].map((value) => value ?? null)",
        ),
      );
      for (const look of await Promise.all(looks))
        expect(look.result).toEqual([null, null, null, null, null, "[1]", null, null]);
    },
  },
];
