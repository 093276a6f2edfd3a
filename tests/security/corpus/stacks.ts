/** Probes: stacks, call sites, callers, and what happens where the stack is full. */
import { collecting, lootProbe, type Probe } from "./probe.ts";

const control = { in: "naive-vm", shows: "loot" } as const;

/** Looks at each stack text for anything but the script's own places. */
const READ_STACKS = String.raw`
  const read = (name, text) => { for (const line of String(text).split("\n")) if (/^\s*at /.test(line) && !line.includes("script.ts:")) note(name + ": " + line.trim().slice(0, 80)); };`;

/**
 * Runs something at every depth from the very end of the stack upwards: what it throws, answers or rejects with must be
 * of the script's own realm, or lead nowhere.
 */
const AT_THE_END = String.raw`
  const kept = new Array(4000).fill(undefined);
  let count = 0;
  const atTheEnd = async (name, act, levels = 400) => {
    let left = levels;
    const deepen = () => {
      try { deepen(); } catch (error) { kept[count++] = error; }
      if (left-- > 0) try { kept[count++] = act(); } catch (error) { kept[count++] = error; }
    };
    try { deepen(); } catch (error) { kept[count++] = error; }
    for (const value of kept.splice(0, count)) { take(name, value); if (typeof value?.then === "function") await value.then((value) => take(name + " resolved", value), (error) => take(name + " rejected", error)); }
  };`;

/** Each gives away an object of the host in the naive sandbox, but for those that are all language. */
const FULL_STACK: [name: string, entries: number[], act: string][] = [
  ["stack", [16], "new Error('a').stack"],
  ["engine-error-stack", [16], "{ try { null.x; } catch (error) { return error.stack; } }"],
  ["capture", [14, 16], "{ const o = {}; Error.captureStackTrace(o); return o.stack; }"],
  ["console", [16], "console.log({ a: [1, new Map([[1, 2]])] }, 'x')"],
  ["console-text", [16], "console.error('x')"],
  ["console-table", [16], "console.table?.([{ a: 1 }])"],
  ["console-trace", [16], "console.trace?.('x')"],
  ["timers", [16], "clearTimeout(setTimeout(() => {}, 1))"],
  ["microtask", [16], "queueMicrotask(() => {})"],
  ["call", [16], "tools.test.echo({ a: 1 })"],
  ["failing-call", [16], "tools.test.fail({ message: 'm' })"],
  ["discovery", [16], "cyrnel.discoverTools({})"],
  ["output", [16], "cyrnel.output({ a: { b: 1 } })"],
  ["clone", [16], "structuredClone({ a: new Map([[1, [2]]]) })"],
  ["url", [16], "new URL('http://user@a.example/b?c=d#e').searchParams"],
  ["encoder", [16], "new TextDecoder().decode(new TextEncoder().encode('é'))"],
  ["crypto", [16], "crypto.randomUUID()"],
  ["abort", [16], "{ const c = new AbortController(); c.abort(); return c.signal.reason; }"],
  [
    "event",
    [16],
    "{ const t = new EventTarget(); t.addEventListener('x', () => {}); return t.dispatchEvent(new Event('x')); }",
  ],
  ["base64", [16], "atob(btoa('x'))"],
  ["fetch", [16], "fetch('x')"],
  ["rejection", [16], "Promise.reject(new Error('handled'))"],
  ["intl", [16], "new Intl.DateTimeFormat('en', { dateStyle: 'full' }).format(0)"],
  ["pattern", [16], "'aXbX'.replace(/x/gi, () => 'y')"],
  ["json", [16], "JSON.stringify({ toJSON: () => JSON.parse('[1,{}]') })"],
];

const ALL_LANGUAGE = new Set(["rejection", "intl", "pattern", "json"]);

export const stackProbes: Probe[] = [
  lootProbe({
    id: "stack.call-sites",
    entries: [12],
    steals: "call sites, which know the functions and objects of every caller",
    attack: String.raw`
      const sites = [];
      const OwnError = Error;
      const format = (error, found) => { sites.push(...found); return found; };
      attempt(() => { Error.prepareStackTrace = format; });
      attempt(() => Object.defineProperty(Error, "prepareStackTrace", { value: format, writable: true }));
      attempt(() => Object.defineProperty(Error, "prepareStackTrace", { get: () => format }));
      attempt(() => Object.defineProperty(Object.prototype, "prepareStackTrace", { value: format, configurable: true }));
      attempt(() => Object.defineProperty(Function.prototype, "prepareStackTrace", { value: format, configurable: true }));
      attempt(() => { globalThis.Error = { prepareStackTrace: format }; });
      attempt(() => Object.defineProperty(globalThis, "Error", { value: { prepareStackTrace: format } }));
      attempt(() => Object.setPrototypeOf(OwnError, { prepareStackTrace: format }));
      attempt(() => { globalThis.Error = OwnError; });
      class Mine extends OwnError { static prepareStackTrace = format; }
      for (const make of [() => new Mine("m").stack, () => new TypeError("t").stack, () => { const o = {}; OwnError.captureStackTrace(o); return o.stack; }, () => null.x]) { const got = attempt(make); attempt(() => got.stack); if (Array.isArray(got) || Array.isArray(got?.stack)) note("a list of call sites"); }
      await tools.test.fail({ message: "m" }).catch((error) => error.stack);
      for (const site of sites) { note("a call site: " + attempt(() => site.getFileName())); take("getThis", attempt(() => site.getThis())); take("getFunction", attempt(() => site.getFunction())); take("call site", site); }`,
    control,
  }),
  lootProbe({
    id: "stack.formatter",
    entries: [12],
    steals:
      "the sandbox's own formatter of stacks, to learn of call sites or to make it throw something of its own",
    attack: String.raw`
      const descriptor = Object.getOwnPropertyDescriptor(Error, "prepareStackTrace");
      const format = descriptor?.get ? descriptor.get() : descriptor?.value;
      const seen = [];
      const site = new Proxy({}, { get: (_, key) => { seen.push(key); return () => ({}); } });
      for (const sites of [[site], { length: 1e9, 0: site }, null, new Proxy([], { get: (_, key) => (key === "length" ? 3 : site) })]) take("formatter", attempt(() => format(new Error("m"), sites)));
      take("formatter", format);
      take("setter", descriptor?.set);
      generate("formatter", (code) => format.constructor(code)());
      if (Error.prepareStackTrace !== undefined && (attempt(() => { Error.prepareStackTrace = null; }), Error.prepareStackTrace === null)) note("the formatter was removed");
      Error.prepareStackTrace = (_, found) => { take("call site", found[0]); note("call sites"); return ""; };
      attempt(() => new Error("x").stack);`,
    control,
  }),
  lootProbe({
    id: "stack.texts",
    entries: [13, 14],
    steals: "names of the host's files and functions, from the text of any stack",
    attack: String.raw`${READ_STACKS}
      const captured = {};
      Error.captureStackTrace(captured);
      read("captured", captured.stack);
      read("error", new Error("x").stack);
      read("call", await tools.test.fail({ message: "m" }).catch((error) => error.stack));
      read("unknown tool", await Promise.resolve(attempt(() => tools.nope.nope({}))).catch((error) => error.stack));
      read("import", await import("x").catch((error) => error.stack));
      read("timer", await new Promise((resolve) => setTimeout(() => resolve(new Error("t").stack), 1)));
      read("listener", await new Promise((resolve) => { const target = new EventTarget(); target.addEventListener("x", () => resolve(new Error("l").stack)); target.dispatchEvent(new Event("x")); }));
      read("getter", attempt(() => cyrnel.output({ get a() { throw new Error("g"); } })).stack);
      read("inspector", attempt(() => console.log({ [Symbol.for("nodejs.util.inspect.custom")]() { throw new Error("i"); } }))?.stack);
      read("clone", attempt(() => structuredClone(() => {})).stack);
      read("url", attempt(() => new URL("::")).stack);
      read("json", attempt(() => JSON.parse("{")).stack);
      read("overflow", attempt(() => { (function deep() { deep(); })(); }).stack);
      read("sort", attempt(() => [2, 1].sort(() => { throw new Error("s"); })).stack);
      read("eval", attempt(() => Function("x")).stack);
      read("then", await Promise.resolve().then(() => { throw new Error("p"); }).catch((error) => error.stack));
      const aborted = AbortSignal.abort?.().reason ?? new Error("x"); read("abort", aborted.stack);
      Error.stackTraceLimit = Infinity;
      read("unlimited", new Error("x").stack);
      read("unlimited call", await tools.test.fail({ message: "m" }).catch((error) => error.stack));`,
    control: { in: "naive-vm", shows: "loot" },
  }),
  lootProbe({
    id: "stack.limits",
    steals: "the sandbox's calm: odd values of stackTraceLimit while it makes and formats errors",
    attack: String.raw`${READ_STACKS}
      for (const limit of [Infinity, -1, 0, NaN, 1e9, "5", null, {}, 2 ** 32]) {
        attempt(() => { Error.stackTraceLimit = limit; });
        read(String(limit), new Error("x").stack);
        read(String(limit), await tools.test.fail({ message: "m" }).catch((error) => error.stack));
      }
      attempt(() => { delete Error.stackTraceLimit; });
      attempt(() => Object.defineProperty(Error, "stackTraceLimit", { get() { note("asked for the limit"); throw new Error("mine"); } }));
      read("getter", new Error("x").stack);
      await tools.test.echo({});`,
  }),
  lootProbe({
    id: "stack.caller",
    steals:
      "the sandbox's functions and their arguments, through caller and arguments of a callback it calls",
    attack: String.raw`
      const look = (name, answer) => function callback() {
        const caller = attempt(() => callback.caller);
        if (typeof caller === "function") { note(name + ": its caller " + caller.name); take(name, caller); take(name, attempt(() => caller.arguments)); }
        const found = attempt(() => arguments.callee.caller);
        if (typeof found === "function") note(name + ": callee's caller");
        return answer;
      };
      attempt(() => cyrnel.output({ a: { toJSON: look("toJSON", 1) } }));
      attempt(() => cyrnel.output(Object.defineProperty({}, "a", { enumerable: true, get: look("output getter", 1) })));
      attempt(() => console.log({ [Symbol.for("nodejs.util.inspect.custom")]: look("inspect", "") }));
      attempt(() => console.log("%s %d", { toString: look("toString", "") }, { valueOf: look("valueOf", 1) }));
      attempt(() => console.log(new Proxy({}, { get: look("proxy get"), ownKeys: look("ownKeys", []), getOwnPropertyDescriptor: look("descriptor") })));
      attempt(() => new URL({ toString: look("url", "http://a/") }));
      attempt(() => structuredClone(Object.defineProperty({}, "a", { enumerable: true, get: look("clone", 1) })));
      attempt(() => new Error("x", { get cause() { return look("cause")(); } }));
      const error = new Error("x"); Object.defineProperty(error, "name", { get: look("error name", "n") }); attempt(() => error.stack);
      const target = new EventTarget(); target.addEventListener("x", look("listener")); target.dispatchEvent(new Event("x"));
      setTimeout(look("timer"), 0); setImmediate(look("immediate")); queueMicrotask(look("microtask"));
      await tools.test.echo(Object.defineProperty({}, "a", { enumerable: true, get: look("parameter", 1) }));
      await { then: function (resolve) { look("thenable")(); resolve(); } };
      await import({ toString: look("import", "x") }).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 20));
      for (const given of [console.log, cyrnel.output, setTimeout, structuredClone, tools, tools.test.echo]) for (const key of ["caller", "arguments"]) { const found = attempt(() => given[key]); if (typeof found === "function" || Object.prototype.toString.call(found) === "[object Arguments]") take("given " + key, found); }`,
    control: {
      in: "naive-vm",
      shows: "loot",
      script:
        "const look = function callback() { const up = callback.caller; if (typeof up === 'function') note('its caller'); return 1; }; (function sandbox(secret) { look(); })(1);",
    },
  }),
  lootProbe({
    id: "stack.error-hooks",
    steals:
      "an object of the sandbox through the hooks it runs while it describes an error: name, message, cause, subclass",
    attack: String.raw`
      const spy = (name) => new Proxy(function () {}, { get: (target, key, receiver) => { take(name + " receiver", receiver); return Reflect.get(target, key, receiver); }, apply: (target, self, given) => { take(name + " this", self); for (const value of given) take(name + " argument", value); return ""; } });
      for (const key of ["name", "message", "cause", "errors", "toString", "code"]) {
        const error = new Error("x");
        Object.defineProperty(error, key, { get() { take(key, this); return spy(key); } });
        attempt(() => error.stack); attempt(() => console.log(error)); attempt(() => String(error)); attempt(() => console.trace(error));
      }
      const subclass = class extends Error { get name() { take("subclass", this); return spy("subclass"); } static [Symbol.hasInstance]() { return true; } };
      attempt(() => console.log(new subclass("x"))); attempt(() => new subclass("x").stack);
      attempt(() => console.log(new AggregateError([new Proxy(new Error("x"), {})], "x")));
      attempt(() => console.log(new SuppressedError(new Error("a"), new Error("b"))));
      await tools.test.fail({ message: "m", name: "N", code: "c" }).catch((error) => take("call", error));`,
    control,
  }),
  ...FULL_STACK.map(
    ([name, entries, act]): Probe => ({
      id: `full-stack.${name}`,
      entries,
      steals:
        "an object of another realm, from what the sandbox or the engine's host throws where the stack is full",
      script: collecting(
        `${AT_THE_END}\nawait atTheEnd("${name}", () => ${act.startsWith("{") ? act : `(${act})`});\nawait tools.test.echo({ after: 1 });`,
      ),
      observe: "no loot",
      ...(!ALL_LANGUAGE.has(name) && { control }),
    }),
  ),
];
