/** Probes: what is there to be used, and what it tells about the host. */
import { expect } from "vitest";
import { lootProbe, type Probe } from "./probe.ts";

const inPlainNode = { in: "plain-node", shows: "loot" } as const;
const inNaiveVm = { in: "naive-vm", shows: "loot" } as const;

export const globalProbes: Probe[] = [
  lootProbe({
    id: "globals.absent",
    entries: [1],
    steals: "Node's own globals: the process, a module loader, buffers of shared memory, WebAssembly",
    attack: String.raw`
      const names = { process: typeof process, require: typeof require, module: typeof module, exports: typeof exports, Buffer: typeof Buffer, global: typeof global, __filename: typeof __filename,
        __dirname: typeof __dirname, WebAssembly: typeof WebAssembly, SharedArrayBuffer: typeof SharedArrayBuffer, Atomics: typeof Atomics, gc: typeof gc, ShadowRealm: typeof ShadowRealm,
        Worker: typeof Worker, MessageChannel: typeof MessageChannel, BroadcastChannel: typeof BroadcastChannel, WebSocket: typeof WebSocket, EventSource: typeof EventSource,
        XMLHttpRequest: typeof XMLHttpRequest, navigator: typeof navigator, localStorage: typeof localStorage, sessionStorage: typeof sessionStorage, Deno: typeof Deno, Bun: typeof Bun,
        importScripts: typeof importScripts, primordials: typeof primordials, internalBinding: typeof internalBinding, ivm: typeof ivm, emit: typeof emit, receive: typeof receive, realm: typeof realm, install: typeof install };
      for (const name in names) if (names[name] !== "undefined") note(name);
      for (const name in names) if (name in globalThis) note("globalThis." + name);`,
    control: inPlainNode,
  }),
  lootProbe({
    id: "globals.removed-is-gone",
    steals:
      "a removed global through an object that still holds it: shared memory, WebAssembly, the inspector's console",
    attack: String.raw`
      const seen = new Set(), queue = [globalThis], names = new Set(["SharedArrayBuffer", "Atomics", "WebAssembly", "Memory", "Module", "Instance"]);
      while (queue.length > 0) {
        const item = queue.pop();
        if (!isObject(item) || seen.has(item)) continue;
        seen.add(item);
        const tag = attempt(() => Object.prototype.toString.call(item));
        if (/SharedArrayBuffer|Atomics|WebAssembly/.test(String(tag)) || (typeof item === "function" && names.has(item.name))) note(String(tag) + " " + item.name);
        queue.push(attempt(() => Object.getPrototypeOf(item)));
        for (const key of Reflect.ownKeys(item)) { const found = Object.getOwnPropertyDescriptor(item, key); queue.push(found.value, found.get, found.set); }
      }
      console.log({ look: [new Map()] });
      for (const name of ["Atomics", "SharedArrayBuffer"]) if (name in globalThis) note(name + " after console");`,
    control: inPlainNode,
  }),
  lootProbe({
    id: "globals.expected-only",
    steals: "a global nobody meant to give",
    attack: String.raw`
      const known = new Set(("Object Function Array Number parseFloat parseInt Infinity NaN undefined Boolean String Symbol Date Promise RegExp Error AggregateError EvalError RangeError " +
        "ReferenceError SyntaxError TypeError URIError globalThis JSON Math Intl ArrayBuffer Uint8Array Int8Array Uint16Array Int16Array Uint32Array Int32Array BigUint64Array BigInt64Array " +
        "Uint8ClampedArray Float16Array Float32Array Float64Array DataView Map BigInt Set Iterator WeakMap WeakSet WeakRef FinalizationRegistry Proxy Reflect decodeURI decodeURIComponent encodeURI " +
        "encodeURIComponent escape unescape eval isFinite isNaN console Temporal SuppressedError DisposableStack AsyncDisposableStack setTimeout setInterval setImmediate clearTimeout clearInterval " +
        "clearImmediate queueMicrotask fetch structuredClone atob btoa URL URLSearchParams TextEncoder TextDecoder AbortController AbortSignal Event CustomEvent EventTarget DOMException crypto CryptoKey performance tools cyrnel Headers Request Response FormData Blob File " +
        "ReadableStream ReadableStreamDefaultReader ReadableStreamBYOBReader ReadableStreamBYOBRequest ReadableStreamDefaultController ReadableByteStreamController WritableStream " +
        "WritableStreamDefaultWriter WritableStreamDefaultController TransformStream TransformStreamDefaultController ByteLengthQueuingStrategy CountQueuingStrategy TextEncoderStream TextDecoderStream").split(" "));
      for (let scope = globalThis; scope !== null && scope !== Object.prototype; scope = Object.getPrototypeOf(scope))
        for (const key of Reflect.ownKeys(scope)) if (!known.has(key) && !(scope !== globalThis && key === "constructor") && key !== Symbol.toStringTag) note(String(key));`,
    control: inPlainNode,
  }),
  lootProbe({
    id: "globals.this",
    entries: [2],
    steals: "the host through the global object, its prototypes and their constructors",
    attack: String.raw`
      const scope = function () { return this; }.call(undefined) ?? globalThis;
      for (const [name, value] of [["this", this], ["scope", scope], ["globalThis", globalThis], ["globalThis's prototype", Object.getPrototypeOf(globalThis)]]) {
        if (value === undefined || value === null) continue;
        take(name, value);
        take(name + ".constructor", attempt(() => value.constructor));
        generate(name, (code) => value.constructor.constructor(code));
      }
      generate("this", (code) => (this ?? globalThis).constructor.constructor(code));`,
    control: inNaiveVm,
  }),
  lootProbe({
    id: "globals.fixed",
    entries: [24],
    steals: "the trust of code that runs later: tools, cyrnel and Error are replaced, deleted or redefined",
    attack: String.raw`
      const before = { tools, cyrnel, Error };
      for (const name of ["tools", "cyrnel"]) {
        attempt(() => { globalThis[name] = { forged: true }; });
        attempt(() => delete globalThis[name]);
        attempt(() => Object.defineProperty(globalThis, name, { value: { forged: true } }));
        attempt(() => Object.defineProperty(globalThis, name, { get: () => ({ forged: true }) }));
        if (globalThis[name] !== before[name]) note(name + " was replaced");
      }
      for (const key of ["output", "process", "services", "discoverTools"]) {
        attempt(() => { cyrnel[key] = "forged"; });
        attempt(() => { delete cyrnel[key]; });
        if (cyrnel[key] === "forged" || cyrnel[key] === undefined) note("cyrnel." + key + " was replaced");
      }
      attempt(() => { cyrnel.process.id = 99; });
      if (cyrnel.process?.id === 99) note("the process id was changed");
      attempt(() => { tools.test.echo = () => "forged"; });
      attempt(() => Object.defineProperty(tools.test, "echo", { value: () => "forged" }));
      if ((await Promise.resolve(attempt(() => tools.test.echo({ a: 1 })))) === "forged") note("a tool was replaced");`,
    control: inNaiveVm,
  }),
  lootProbe({
    id: "globals.network",
    steals: "a way out to the network",
    attack: String.raw`
      const answer = await Promise.resolve(attempt(() => fetch("data:text/plain,reached"))).then((response) => response.text(), (error) => { take("error of fetch", error); return ""; });
      if (answer === "reached") note("fetch answers");
      for (const name of ["WebSocket", "EventSource", "XMLHttpRequest"]) if (globalThis[name] !== undefined) note(name);`,
    control: inPlainNode,
  }),
  lootProbe({
    id: "globals.host-facts",
    steals: "where and as what the host runs: its time zone, its environment, its command line",
    attack: String.raw`
      const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
      if (zone !== "UTC" || new Date(0).getHours() !== 0 || Temporal.Now.timeZoneId() !== "UTC") note("the host's time zone: " + zone);
      for (const text of [attempt(() => process.env.SECRET), attempt(() => process.argv.join())]) if (typeof text === "string") note(text);`,
    control: inPlainNode,
  }),
  lootProbe({
    id: "globals.what-cyrnel-tells",
    steals: "an id, path or key of the server from what a script is told about itself",
    attack: String.raw`
      const told = JSON.stringify([cyrnel.process, Object.keys(cyrnel), Object.keys(tools), "test" in tools, String(tools), performance.timeOrigin > 0]);
      if (/\/|token|secret|key|pid/i.test(told)) note(told);
      if (Object.keys(tools).length > 0 || "test" in tools) note("the names of services");`,
    control: inNaiveVm,
  }),
  {
    id: "globals.eid",
    entries: [29],
    steals: "another run's records, by naming its execution in a call",
    script: String.raw`
      await tools.test.echo({ eid: 1, signal: { aborted: false } });
      try { cyrnel.process.id = 1; } catch {}
      await tools.test.echo({ me: cyrnel.process.id });
      return cyrnel.process.id;`,
    observe(run) {
      expect(run.state).toBe("success");
      expect(run.calls.map(({ eid }) => eid)).toEqual([run.result, run.result]);
      expect(run.calls[0]?.parameters).toEqual({ eid: 1, signal: { aborted: false } });
      expect(run.calls[0]?.signal).toBeInstanceOf(AbortSignal);
    },
  },
  lootProbe({
    id: "globals.random",
    steals: "the random numbers of another run: the generator starts from the same place",
    attack: String.raw`console.log(crypto.randomUUID() + " " + crypto.getRandomValues(new Uint32Array(4)).join());`,
    observe(run) {
      expect([run.state, run.result]).toEqual(["success", []]);
      expect(KNOWN_RANDOM.has(run.stdout)).toBe(false);
      KNOWN_RANDOM.add(run.stdout);
    },
  }),
];

const KNOWN_RANDOM = new Set<string>();
