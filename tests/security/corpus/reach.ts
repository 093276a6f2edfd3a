/** Probes: everything a script can reach, from every value that any of its functions gives, throws or passes on. */
import { collecting, lootProbe, type Probe } from "./probe.ts";

const control = { in: "naive-vm", shows: "loot" } as const;

/** Walks all that can be reached from a value, through getters too, and takes each. Answers how much it saw. */
const WALK = String.raw`
  const seen = new Set();
  const walk = (name, start, limit = 6000) => {
    const queue = [start];
    for (let steps = 0; queue.length > 0 && steps < limit; steps++) {
      const item = queue.pop();
      if (!isObject(item) || seen.has(item)) continue;
      seen.add(item);
      take(name, item);
      if (typeof item === "function" && !(item instanceof Function) && item !== Function.prototype) note(name + ": a function of another realm: " + String(item.name));
      queue.push(attempt(() => Object.getPrototypeOf(item)));
      for (const key of attempt(() => Reflect.ownKeys(item)).slice?.(0, 300) ?? []) {
        const descriptor = attempt(() => Reflect.getOwnPropertyDescriptor(item, key));
        if (!isObject(descriptor)) continue;
        queue.push(descriptor.value, descriptor.get, descriptor.set);
        if (!descriptor.get || key === "__proto__") continue;
        const got = attempt(() => item[key]);
        // Some members of streams are promises that reject for what is no stream.
        if (got instanceof Promise) got.catch(() => {});
        queue.push(got);
      }
    }
    return seen.size;
  };`;

/** Values of each part of the language and of the sandbox whose makers live where a walk from the globals does not come. */
const SOURCES: [name: string, expression: string][] = [
  [
    "node-modules",
    "await Promise.all([import('fs'), import('fs/promises'), import('path'), import('buffer'), import('util'), import('events'), import('stream'), import('stream/promises'), import('crypto'), import('assert'), import('assert/strict'), import('url'), import('timers'), import('timers/promises'), import('string_decoder'), import('util/types')])",
  ],
  [
    "node-module-values",
    "await Promise.all([import('fs'), import('buffer'), import('crypto'), import('stream'), import('events'), import('util'), import('url')]).then(([fs, buffer, crypto, stream, events, util, url]) => [attempt(() => fs.readFileSync('none')), attempt(() => fs.statSync('.')), attempt(() => fs.openSync('../../etc/passwd')), attempt(() => fs.readFileSync('/proc/self/environ')), attempt(() => fs.createReadStream('none').on('error', () => {})), buffer.Buffer.from('x'), crypto.createHash('sha256'), crypto.randomBytes(4), crypto.webcrypto, new stream.Readable(), new stream.PassThrough(), new events.EventEmitter(), util.promisify(() => {}), util.inspect, url.pathToFileURL('/x'), fs.promises.readFile('none').catch((e) => e)])",
  ],
  [
    "iterators",
    "[[][Symbol.iterator](), new Map().entries(), new Set().values(), ''[Symbol.iterator](), 'a'.matchAll(/a/g), Iterator.from([]), [].values().map((x) => x), (function* () {})(), (async function* () {})()]",
  ],
  [
    "async",
    "[(async () => {})(), Promise.withResolvers(), Promise.try?.(() => 1), Array.fromAsync([1]), (async function* () { yield 1; })().next()]",
  ],
  [
    "errors",
    "[() => null.x, () => undefined(), () => missing, () => { 'use strict'; Object.freeze([]).push(1); }, () => new Array(-1), () => 'x'.repeat(-1), () => decodeURI('%'), () => JSON.parse('{'), () => 1n + 1, () => new Proxy({}, null), () => Symbol() + '', () => [].reduce(), () => new RegExp('('), () => Reflect.construct(1), () => new Intl.NumberFormat('xx-invalid-locale-x'), () => structuredClone(() => {}), () => new URL(''), () => atob('*'), () => new TextDecoder('nope'), () => Temporal.PlainDate.from('x'), () => crypto.getRandomValues(1), () => btoa('€')].map(attempt)",
  ],
  [
    "intl",
    "['Collator', 'DateTimeFormat', 'DisplayNames', 'DurationFormat', 'ListFormat', 'Locale', 'NumberFormat', 'PluralRules', 'RelativeTimeFormat', 'Segmenter'].filter((name) => Intl[name]).map((name) => attempt(() => { const made = name === 'Locale' ? new Intl.Locale('en') : new Intl[name]('en', name === 'DisplayNames' ? { type: 'region' } : {}); return [made, made.resolvedOptions?.(), attempt(() => made.formatToParts?.(1)), attempt(() => [...made.segment('a b')])]; }))",
  ],
  [
    "temporal",
    "[Temporal.Now.instant(), Temporal.Now.zonedDateTimeISO(), Temporal.Duration.from({ hours: 1 }), Temporal.PlainTime.from('10:00')]",
  ],
  [
    "buffers",
    "[new ArrayBuffer(8, { maxByteLength: 16 }), new ArrayBuffer(8).transfer(), new DataView(new ArrayBuffer(8)), Uint8Array.fromBase64?.('AA=='), new Float16Array(1)]",
  ],
  [
    "weak",
    "[new WeakRef({}), new WeakRef({}).deref(), new FinalizationRegistry(() => {}), new WeakMap(), new WeakSet()]",
  ],
  [
    "disposables",
    "[new DisposableStack(), new AsyncDisposableStack(), new AsyncDisposableStack().disposeAsync(), new SuppressedError(1, 2)]",
  ],
  [
    "patterns",
    "[/(?<a>a)/d.exec('a'), 'a'.match(/a/), /a/g[Symbol.matchAll]('a'), 'a'.replace(/(?<b>a)/, (...given) => { take('replacer', given.at(-1)); return ''; })]",
  ],
  ["templates", "[((...given) => given)`a`, ((strings) => strings.raw)`a`, String.raw`x`]"],
  [
    "arguments",
    "[(function () { return arguments; })(1), (function () { return attempt(() => arguments.callee); })()]",
  ],
  [
    "web",
    "[new URL('http://a/?b=c').searchParams.entries(), new AbortController().signal, AbortSignal.abort().reason, new TextEncoder().encodeInto('a', new Uint8Array(2)), new TextDecoder('utf-16le'), new Event('x'), new CustomEvent('x', { detail: {} }), new EventTarget(), structuredClone(new Map([[1, new Date()]])), structuredClone(new Error('x')), crypto.subtle.digest('SHA-256', new Uint8Array()), crypto.subtle, CryptoKey, attempt(() => new CryptoKey()), crypto.subtle.sign('HMAC', {}, new Uint8Array()), crypto.subtle.importKey('raw', new Uint8Array(1), { name: 'HMAC', hash: 'SHA-256' }, true, ['sign']).then(async (k) => [k, k.algorithm, k.usages, await crypto.subtle.sign('HMAC', k, new Uint8Array()), await crypto.subtle.exportKey('jwk', k)]), new DOMException('a', 'AbortError'), performance.toJSON()]",
  ],
  [
    "fetch",
    "[new Headers({ a: 'b' }), new Headers({ a: 'b' }).entries(), new Request('http://a.test', { method: 'POST', body: 'x' }), new Request('http://a.test').signal, new Response('x').body, new Response('x').body.getReader(), new Response('x').body.getReader({ mode: 'byob' }), new Response('x').text(), new Response('{').json(), new Response(new FormData()).formData(), new Response('x').blob(), new Response('x').clone(), Response.error(), fetch('http://none.test/'), fetch('http://web.test/text'), fetch('http://web.test/bytes/2000000').then((r) => [r, r.body]), fetch('nothing'), new Blob(['x']).stream(), new Blob(['x']).bytes(), new File(['x'], 'y'), new FormData().entries(), new TransformStream(), new TransformStream().writable.getWriter(), new WritableStream({ start(c) { take('controller', c); } }), new ReadableStream({ type: 'bytes', start(c) { take('controller', c); take('request', c.byobRequest); } }), ReadableStream.from(['x']), ReadableStream.from(['x']).values(), new TextDecoderStream(), new TextEncoderStream(), new CountQueuingStrategy({ highWaterMark: 1 }).size, attempt(() => new Response('x', { status: 1 })), attempt(() => Response.prototype.status), attempt(() => Headers.prototype.get.call(1, 'a')), attempt(() => new Request('/')).cause]",
  ],
  [
    "timers",
    "[setTimeout(() => {}, 1), setInterval(() => {}, 1000).unref(), setImmediate(() => {}), setTimeout(() => {}, 1).ref(), setTimeout(() => {}, 1)[Symbol.toPrimitive]]",
  ],
  [
    "replies",
    "[tools.test.echo({ a: [{ b: null }] }), tools.test.nothing({}), tools.test.fail({ message: 'm', code: 'c', status: 1 }), tools.nope.nope({}), tools.test.nope({}), cyrnel.discoverServices(), cyrnel.discoverTools({ query: 'q' }), cyrnel.getService('test'), cyrnel.getService('nope'), cyrnel.getTool({ serviceId: 'test', toolId: 'echo' }), cyrnel.getToolDocs({ serviceId: 'test', toolId: 'echo' }), cyrnel.ask({ message: 'm' }), tools.search({ query: 'x' }), tools.describe.tool({ path: 'test.echo' })]",
  ],
  [
    "refusals",
    "[() => tools(), () => tools.a(), () => tools.a.b.c(), () => new tools.a.b(), () => cyrnel.services(), () => cyrnel.output(1), () => cyrnel.output(new Proxy({}, { ownKeys() { throw 1; } })), () => cyrnel.getService(1), () => cyrnel.ask({}), () => setTimeout(1), () => queueMicrotask(), () => new Event(), () => new AbortSignal(), () => fetch(), () => tools.test.echo(1), () => tools.test.echo({ a: 1n }), () => cyrnel.discoverTools({ limit: -1 })].map((act) => attempt(act))",
  ],
];

export const reachProbes: Probe[] = [
  lootProbe({
    id: "reach.globals",
    entries: [15],
    steals: "any object of another realm that can be walked to from the globals",
    attack: String.raw`${WALK}
      const count = walk("globals", globalThis, 20000) + walk("tools", [tools, tools.a, tools.a?.b, cyrnel.services.a, cyrnel]);
      if (count < 1000 && loot.length === 0) note("only " + count + " objects were seen");`,
    control,
  }),
  ...SOURCES.map(
    ([name, expression]): Probe => ({
      id: `reach.${name}`,
      entries: [15],
      steals: "any object of another realm that can be walked to from values made on the way",
      script: collecting(String.raw`${WALK}
        const values = ${expression};
        // Some reject while others are waited for.
        for (const value of values) if (typeof value?.then === "function") value.then(() => {}, () => {});
        for (const value of values) {
          walk("${name}", value);
          if (typeof value?.then === "function") await Promise.race([value.then((settled) => walk("${name} resolved", settled), (error) => walk("${name} rejected", error)), new Promise((resolve) => setTimeout(resolve, 2000))]);
        }`),
      observe: "no loot",
      ...(["web", "timers"].includes(name) && { control }),
      ...(name === "replies" && {
        control: {
          ...control,
          script: collecting(
            `${WALK} for (const value of [tools.test.echo({}), tools.test.fail({ message: "m" })]) { walk("replies", value); await value.then((v) => walk("resolved", v), (e) => walk("rejected", e)); }`,
          ),
        },
      }),
      ...(name === "refusals" && {
        control: {
          ...control,
          script: collecting(
            `${WALK} for (const act of [() => tools.nope.nope(), () => setTimeout(1), () => new URL(""), () => new AbortSignal()]) walk("refusals", attempt(act));`,
          ),
        },
      }),
    }),
  ),
  lootProbe({
    id: "reach.every-function",
    entries: [15],
    steals:
      "an object of another realm in what any function there is answers or throws when it is called badly",
    attack: String.raw`
      const functions = new Map(), seen = new Set(), queue = [["globalThis", globalThis]];
      const skip = /^(eval|setInterval|fetch|output|log|error|info|debug|warn|trace|table|dir|dirxml|group|groupCollapsed|assert|count|time.*|freeze|seal|preventExtensions|setPrototypeOf|defineProper.*|assign|deleteProperty|set|Function|GeneratorFunction|AsyncFunction|AsyncGeneratorFunction|copyWithin|fill|repeat|padStart|padEnd|__define.*|ask|captureStackTrace|create)$/;
      while (queue.length > 0) {
        const [name, item] = queue.pop();
        if (!isObject(item) || seen.has(item) || item === loot) continue;
        seen.add(item);
        if (typeof item === "function" && !skip.test(item.name)) functions.set(item, name);
        for (const key of Reflect.ownKeys(item)) { const { value, get, set } = Reflect.getOwnPropertyDescriptor(item, key); for (const next of [value, get, set]) if (isObject(next)) queue.push([name + "." + String(key), next]); }
        const prototype = Object.getPrototypeOf(item); if (prototype) queue.push([name + "*", prototype]);
      }
      const arguments_ = [[], [undefined], [null, null], [{}], [() => {}], ["x", "y"], [Symbol("s")], [1n], [new Proxy({}, {})], [Object.create(null), {}]];
      for (const [call, name] of functions) {
        for (const list of arguments_) {
          for (const self of [undefined, {}, 1, "s", []]) { const answer = attempt(() => Reflect.apply(call, self, list)); take(name, answer); if (typeof answer?.then === "function") attempt(() => answer.then((value) => take(name + " resolved", value), (error) => take(name + " rejected", error))); }
          take("new " + name, attempt(() => Reflect.construct(call, list)));
        }
      }
      if (functions.size < 500 && loot.length === 0) note("only " + functions.size + " functions were called");
      await new Promise((resolve) => setTimeout(resolve, 50));`,
    control: {
      ...control,
      script:
        "for (const call of [setTimeout, clearTimeout, structuredClone, URL, tools.test.echo, cyrnel.output]) for (const list of [[], [null], [{}]]) take(call.name, attempt(() => Reflect.apply(call, undefined, list)));",
    },
  }),
  lootProbe({
    id: "reach.inspector",
    entries: [15, 21],
    steals: "the inner objects of console's formatter, given to an inspection hook",
    attack: String.raw`${WALK}
      const hook = Symbol.for("nodejs.util.inspect.custom");
      const spy = { [hook](...given) { for (const value of given) walk("hook", value); walk("this", this); const [, options, inspect] = given; walk("answer", attempt(() => inspect?.({ [hook](...more) { walk("inner", more); return {}; } }, { ...options, depth: 50, customInspect: true }))); walk("stylize", attempt(() => options?.stylize("x", "special"))); return { nested: this }; } };
      for (const print of [console.log, console.error, console.table, console.dir, console.trace]) attempt(() => print(spy, { a: spy }, [spy], new Map([[spy, spy]])));
      attempt(() => console.log("%o %O %s %j %i %f", spy, spy, spy, spy, spy, spy));
      attempt(() => console.dir(spy, { customInspect: true, showProxy: true, getters: true, showHidden: true }));
      attempt(() => console.log(Object.create({ constructor: { name: { toString() { walk("name", this); return "x"; } } } })));
      attempt(() => console.log({ get [Symbol.toStringTag]() { walk("tag", this); return "x"; } }));`,
    control: {
      ...control,
      script:
        "const answers = []; take('console', console.log); take('log', attempt(() => console.log.bind(null)));",
    },
  }),
  lootProbe({
    id: "reach.proxies-of-tools",
    entries: [15, 18],
    steals: "what stands behind the proxies of tools: their targets, handlers and traps",
    attack: String.raw`${WALK}
      for (const [name, node] of [["tools", tools], ["tools.a", tools.a], ["tools.a.b", tools.a.b], ["services", cyrnel.services], ["services.a", cyrnel.services.a]]) {
        walk(name, node);
        for (const act of [() => Object.getPrototypeOf(node), () => Object.setPrototypeOf(node, { get: 1 }), () => Reflect.ownKeys(node), () => Object.getOwnPropertyDescriptors(node), () => Object.defineProperty(node, "x", { value: 1 }), () => { node.x = 1; }, () => delete node.x, () => Object.freeze(node), () => node[Symbol.toPrimitive], () => node.valueOf, () => node.then, () => node.constructor, () => node.prototype, () => node.caller, () => node.arguments, () => String(node), () => JSON.stringify(node), () => structuredClone(node), () => new node(), () => class extends node {}, () => new Proxy(node, { get: (...given) => { walk("trap", given); return 1; } }).x, () => Function.prototype.toString.call(node), () => node instanceof node, () => Reflect.construct(Object, [], node)]) walk(name, attempt(act));
        if (attempt(() => node.forged) === 1 || Object.keys(node).length > 0) note(name + " was changed");
      }
      for (const key of ["__proto__", "constructor", "prototype", "then", "toJSON", "hasOwnProperty", Symbol.iterator, Symbol.toStringTag, Symbol.for("nodejs.util.inspect.custom")]) walk("key", attempt(() => tools[key]));`,
    control: {
      ...control,
      script:
        "take('tools', tools); take('echo', tools.test.echo); take('prototype', Object.getPrototypeOf(tools.test.echo));",
    },
  }),
  lootProbe({
    id: "reach.resolvers",
    entries: [17],
    steals:
      "the resolving functions the sandbox hands to a thenable or an executor, and what they close over",
    attack: String.raw`
      const look = (name) => (...given) => { for (const value of given) { take(name, value); if (typeof value === "function" && !(value instanceof Function)) note(name + ": a function of another realm"); generate(name, (code) => value.constructor(code)()); } };
      await { then(resolve, reject) { look("await")(resolve, reject); resolve(1); } };
      await Promise.all([{ then(resolve, reject) { look("all")(resolve, reject); resolve(1); } }]);
      await (async () => ({ then(resolve, reject) { look("return")(resolve, reject); resolve(1); } }))();
      const NativePromise = Promise;
      class Spy extends Promise { constructor(executor) { super((resolve, reject) => { look("executor")(executor, resolve, reject); executor(resolve, reject); }); } static get [Symbol.species]() { return Spy; } }
      globalThis.Promise = Spy; NativePromise.prototype.constructor = Spy;
      const promises = [tools.test.echo({}), cyrnel.discoverTools({}), fetch("x"), import("x"), tools.test.fail({ message: "m" })].map((promise) => promise.then((value) => look("value")(value), (error) => look("error")(error)));
      globalThis.Promise = NativePromise; NativePromise.prototype.constructor = NativePromise;
      await NativePromise.allSettled(promises);`,
    control,
  }),
  lootProbe({
    id: "reach.finalizers",
    steals: "an object of the host in what the engine passes to finalizers and weak references",
    attack: String.raw`
      const calls = [];
      const registry = new FinalizationRegistry(function (held) { calls.push(this, held, arguments); });
      for (let index = 0; index < 3000; index++) registry.register({ index }, { held: index });
      for (let round = 0; round < 30 && calls.length === 0; round++) { new Array(100_000).fill(round); await new Promise((resolve) => setTimeout(resolve, 1)); }
      for (const value of calls) take("finalizer", value);`,
  }),
];
