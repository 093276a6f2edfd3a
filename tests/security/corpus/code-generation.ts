/** Probes: code made of strings, and the modules that `import` would bring. */
import { expect } from "vitest";
import { lootProbe, type Probe } from "./probe.ts";

const control = { in: "naive-vm", shows: "loot" } as const;

/** Sources that must be refused before anything runs, with the line of the fault. */
const REFUSED: [id: string, script: string, line: number][] = [
  ["static-import", '\nimport run from "node:child_process"; console.log("ran");', 2],
  ["side-effect-import", 'console.log("ran");\nimport "node:child_process";', 2],
  ["import-meta", '\n\nconsole.log("ran", import.meta.url);', 3],
  ["import-source", '\nimport source x from "x"; console.log("ran");', 2],
  ["import-defer", '\nimport defer * as x from "node:fs"; console.log("ran");', 2],
  ["escaped-import", '\nim\\u0070ort("node:fs"); console.log("ran");', 2],
  ["re-export", '\nexport * from "node:child_process"; console.log("ran");', 2],
  ["require", '\nconst fs = require("node:fs"); console.log("ran");', 2],
];

export const codeProbes: Probe[] = [
  lootProbe({
    id: "code.constructors-of-functions",
    entries: [2, 3],
    steals: "a Function constructor that makes code of a string, of every kind of function",
    attack: String.raw`
      const kinds = { plain: function () {}, arrow: () => {}, async: async () => {}, generator: function* () {}, asyncGenerator: async function* () {}, method: { m() {} }.m, class: class {}, bound: (() => {}).bind(), native: [].map, getter: Object.getOwnPropertyDescriptor({ get a() { return 1; } }, "a").get };
      for (const name in kinds) generate(name, (code) => { const made = kinds[name].constructor(code); const got = made.call(undefined); return got?.next ? (got.next().value ?? got.next()) : got; });
      for (const name in kinds) generate(name + "'s prototype", (code) => Object.getPrototypeOf(kinds[name]).constructor(code)());`,
    control,
  }),
  lootProbe({
    id: "code.constructors-of-api",
    entries: [4],
    steals: "a Function constructor through a function the sandbox gave",
    attack: String.raw`
      const given = { log: console.log, error: console.error, tool: tools.test.echo, tools, output: cyrnel.output, services: cyrnel.services, setTimeout, setInterval, clearTimeout, queueMicrotask, structuredClone, fetch, URL, TextEncoder, AbortController, digest: crypto.subtle?.digest, now: performance.now, atob, Event };
      // A service may be called constructor: calling it is a call of no tool, which rejects.
      const settle = (made) => { if (made instanceof Promise) made.catch(() => {}); return made; };
      for (const name in given) {
        generate(name, (code) => settle(given[name].constructor(code))());
        generate(name + ".constructor", (code) => settle(given[name].constructor.constructor(code))());
        generate(name + "'s prototype", (code) => Object.getPrototypeOf(given[name]).constructor(code)());
      }`,
    control,
  }),
  lootProbe({
    id: "code.constructors-of-values",
    entries: [2, 4],
    steals: "a Function constructor through a value the sandbox made: a reply, an error, a timer, a promise",
    attack: String.raw`
      const timer = setTimeout(() => {}, 1);
      const made = { timer, reply: await tools.test.echo({ a: [1] }), error: await tools.test.fail({ message: "m" }).catch((error) => error), promise: tools.test.nothing({}), list: await cyrnel.discoverTools({}), process: cyrnel.process, overflow: (() => { try { (function deep() { deep(); })(); } catch (error) { return error; } })() };
      clearTimeout(timer);
      for (const name in made) generate(name, (code) => made[name].constructor.constructor(code)());`,
    control,
  }),
  lootProbe({
    id: "code.eval",
    entries: [5],
    steals: "code of a string, by eval and Function in every way they can be called",
    attack: String.raw`
      const source = "typeof process + 1";
      generate("direct eval", () => eval(source));
      generate("indirect eval", () => (0, eval)(source));
      generate("eval by call", () => eval.call(globalThis, source));
      generate("eval by Reflect", () => Reflect.apply(eval, globalThis, [source]));
      generate("Function", (code) => Function(code)());
      generate("new Function", (code) => new Function(code)());
      generate("Reflect.construct", (code) => Reflect.construct(Function, [code])());
      generate("construct with another target", (code) => Reflect.construct(Function, [code], Array)());
      generate("a subclass", (code) => new (class extends Function {})(code)());
      generate("bound", (code) => Function.bind(null, code)()());
      generate("through a proxy", (code) => new Proxy(Function, {})(code)());
      generate("with parameters", (code) => Function("a = (() => { " + code + " })()", "return a")());
      generate("species", (code) => class extends Promise { static get [Symbol.species]() { return Function; } }.resolve(1).constructor.constructor(code)());`,
    control,
  }),
  lootProbe({
    id: "code.string-callbacks",
    steals: "code of a string given where a callback belongs",
    attack: String.raw`
      globalThis.ran = 0;
      for (const later of [setTimeout, setInterval, setImmediate, queueMicrotask]) generate(later.name, () => { later("globalThis.ran = 1", 0); return undefined; });
      attempt(() => new EventTarget().addEventListener("x", "globalThis.ran = 1"));
      attempt(() => [1].map("globalThis.ran = 1"));
      attempt(() => "a".replace(/a/, "globalThis.ran = 1"));
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (globalThis.ran === 1) note("a string was run");
      generate("the constructor of what refused it", (code) => attempt(() => setTimeout("1")).constructor.constructor(code)());`,
    control,
  }),
  lootProbe({
    id: "code.error-of-refusal",
    steals: "an object of the host in the error that says code generation is off",
    attack: String.raw`
      for (const make of [() => eval("1"), () => Function("1"), () => (async () => {}).constructor("1"), () => (function* () {}).constructor("1"), () => new Function(), () => Function("syntax error ("), () => eval("syntax error (")]) {
        const error = attempt(make);
        take("refusal", error);
        generate("refusal", (code) => error.constructor.constructor(code)());
      }`,
    control,
  }),
  lootProbe({
    id: "code.other-compilers",
    steals: "code of a string through parts of the language that compile: patterns, formats, JSON, templates",
    attack: String.raw`
      globalThis.ran = 0;
      attempt(() => new RegExp("(?{globalThis.ran = 1})"));
      attempt(() => JSON.parse("(globalThis.ran = 1)"));
      attempt(() => new (Intl.MessageFormat ?? Object)("{globalThis.ran = 1}"));
      attempt(() => structuredClone({ toString: "globalThis.ran = 1" }));
      attempt(() => new URL("javascript:globalThis.ran = 1").href);
      attempt(() => console.log("%c%o%O%j", "globalThis.ran = 1", {}, {}, {}));
      attempt(() => { const script = new (globalThis.ShadowRealm ?? Function)("globalThis.ran = 1"); script.evaluate?.("globalThis.ran = 1"); script(); });
      if (globalThis.ran === 1) note("a string was run");`,
    control,
  }),
  lootProbe({
    id: "import.rejection",
    entries: [6, 7],
    steals: "the host's process, in one line, through the error that refuses import()",
    attack: String.raw`
      const error = await import("x").then((module) => { note("a module"); return module; }, (error) => error);
      take("rejection", error);
      generate("rejection", (code) => error.constructor.constructor(code)());
      if (!(error instanceof Error)) note("an error of another realm");`,
    control,
  }),
  lootProbe({
    id: "import.specifiers",
    entries: [6, 8, 9, 11],
    steals:
      "a module by any name: a built-in, a file, a data URL, with attributes, or spelled so that a filter misses it",
    attack: String.raw`
      const names = ["node:process", "node:module", "child_process", "node:vm", "node:ffi", "isolated-vm", "./script.ts", "/etc/passwd", "file:///etc/passwd", "data:text/javascript,export default 1", "data:application/json,{}", "http://127.0.0.1/", "blob:x", "cyrnel:realm", "", "\0", "node:fs\0", "..", "#runner/x.ts"];
      for (const name of names) await import(name).then(() => note("module " + name), (error) => { take(name, error); if (!(error instanceof Error)) note("an error of another realm for " + name); });
      for (const name of names.slice(0, 3)) await import(name, { with: { type: "json" } }).then(() => note("json " + name), (error) => take("json " + name, error));
      await import/**/("node:child_process").then(() => note("commented"), (error) => take("commented", error));
      await (async () => { const fetchModule = (name) => import(name); return fetchModule(["node", "os"].join(":")); })().then(() => note("computed"), (error) => take("computed", error));`,
    control,
  }),
  lootProbe({
    id: "import.hooks",
    steals: "an object of the host while import() converts what it was given",
    attack: String.raw`
      const hostile = [{ toString() { throw new Error("mine"); } }, { toString: () => ({}) }, Symbol("s"), null, undefined, 1n, new Proxy({}, {}), Object.create(null), { [Symbol.toPrimitive]() { return "node:fs"; } }];
      for (const value of hostile) {
        const promise = attempt(() => import(value));
        take("promise", promise);
        if (promise.constructor !== Promise) note("a promise of another realm");
        await promise.then(() => note("a module"), (error) => take("rejection", error));
      }
      for (const options of [1, { with: 1 }, { with: { type: 1 } }, { with: { get type() { throw new Error("mine"); } } }, { get with() { throw new Error("mine"); } }, { with: new Proxy({}, { ownKeys() { throw new Error("mine"); } }) }]) {
        await import("x", options).then(() => note("a module"), (error) => take("rejection with options", error));
      }`,
    control,
  }),
  lootProbe({
    id: "import.full-stack",
    entries: [16],
    steals: "an object of the host where the stack is full: the engine calls the host to answer import()",
    attack: String.raw`
      let left = 300;
      const pending = [];
      const look = () => { if (left-- <= 0) return; try { const promise = import("x"); take("promise", promise); pending.push(promise.then(() => note("a module"), (error) => take("rejection", error))); } catch (error) { take("thrown", error); } };
      const deepen = () => { try { deepen(); } catch {} look(); };
      deepen();
      await Promise.all(pending);`,
    control,
  }),
  lootProbe({
    id: "import.left-alone",
    steals: "an object of the host through an import() nobody waits for",
    attack: String.raw`
      const original = Promise.prototype.then;
      Promise.prototype.then = function (...callbacks) { take("then", this); return original.apply(this, callbacks.map((callback) => typeof callback !== "function" ? callback : (value) => { take("value", value); return callback(value); })); };
      for (let index = 0; index < 200; index++) import("x" + index).catch((error) => take("rejection", error));
      await import("last").catch(() => {});
      Promise.prototype.then = original;`,
    control,
  }),
  ...REFUSED.map(
    ([name, script, line]): Probe => ({
      id: `import.${name}`,
      entries: [10, 11],
      steals: "a module, before the script runs",
      script,
      observe(run) {
        expect([run.state, run.error?.reason, run.error?.line, run.stdout]).toEqual([
          "failed",
          "syntax_error",
          line,
          "",
        ]);
      },
    }),
  ),
];
