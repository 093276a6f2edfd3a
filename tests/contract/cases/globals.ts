/** Cases: what is there, what is not, and that what is there works. */
import { expect } from "vitest";
import { REALM_GLOBALS } from "#api/tools/declarations/globals.ts";
import type { EnvironmentCase } from "../bench.ts";

const LANGUAGE =
  "Object Function Array Number parseFloat parseInt Infinity NaN undefined Boolean String Symbol Date Promise RegExp Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError SuppressedError globalThis JSON Math Intl ArrayBuffer Uint8Array Int8Array Uint16Array Int16Array Uint32Array Int32Array BigUint64Array BigInt64Array Uint8ClampedArray Float16Array Float32Array Float64Array DataView Map BigInt Set Iterator WeakMap WeakSet WeakRef Proxy Reflect FinalizationRegistry DisposableStack AsyncDisposableStack Temporal decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape eval isFinite isNaN";
const ADDED =
  "console setTimeout setInterval setImmediate clearTimeout clearInterval clearImmediate queueMicrotask structuredClone URL URLSearchParams TextEncoder TextDecoder atob btoa AbortController AbortSignal Event CustomEvent EventTarget DOMException crypto CryptoKey performance fetch Headers Request Response FormData Blob File ReadableStream ReadableStreamDefaultReader ReadableStreamBYOBReader ReadableStreamBYOBRequest ReadableStreamDefaultController ReadableByteStreamController WritableStream WritableStreamDefaultWriter WritableStreamDefaultController TransformStream TransformStreamDefaultController ByteLengthQueuingStrategy CountQueuingStrategy TextEncoderStream TextDecoderStream tools cyrnel";

export const globalCases: EnvironmentCase[] = [
  {
    id: "globals.exact",
    sentence: "the global object holds the language and the listed globals, and nothing else",
    async check({ run }) {
      const { result } = await run("return Object.getOwnPropertyNames(globalThis)");
      const expected = new Set(`${LANGUAGE} ${ADDED}`.split(" "));
      expect(result.filter((name: string) => !expected.has(name))).toEqual([]);
      expect(ADDED.split(" ").filter((name) => !result.includes(name))).toEqual([]);
    },
  },
  {
    id: "globals.declared",
    sentence: "an editor is told of every global and of no member that is not there",
    async check({ run }) {
      const declared = REALM_GLOBALS.split(/^declare (?=class|const|function)/m).slice(1);
      const names = declared.map((text) => /\w+ (\w+)/.exec(text)?.[1]);
      expect([...names, "tools", "cyrnel"].sort()).toEqual(ADDED.split(" ").sort());
      const members = declared.flatMap((text, index) =>
        [...(text.split("\n}")[0] ?? "").matchAll(/^ {2}(static )?(?:readonly )?(\w+)[<(:]/gm)]
          .filter(([, , member]) => member !== "constructor")
          .map(([, isStatic, member]) => [
            names[index],
            isStatic === undefined && text.startsWith("class") ? ".prototype" : "",
            member,
          ]),
      );
      const { result } = await run(`
        // Of these, some members are each object's own.
        const made = { Event: new Event("x"), AbortSignal: AbortSignal.abort(), TextEncoder: new TextEncoder(), TextDecoder: new TextDecoder() };
        const members = ${JSON.stringify(members)};
        const ownerOf = (name, of) => of === "" ? globalThis[name] : made[name] ?? globalThis[name].prototype;
        return members.filter(([name, of, member]) => !(member in ownerOf(name, of)));`);
      expect(result).toEqual([]);
      expect(members.length).toBeGreaterThan(120);
    },
  },
  {
    id: "globals.absent",
    sentence: "nothing of Node, of modules, of shared memory or of WebAssembly is there",
    async check({ run }) {
      const names =
        "process require module exports Buffer global __dirname WebAssembly SharedArrayBuffer Atomics";
      const { result } = await run(`return [${names.split(" ").map((name) => `typeof ${name}`)}]`);
      expect(new Set(result)).toEqual(new Set(["undefined"]));
    },
  },
  {
    id: "globals.eval-off",
    sentence: "eval and every function constructor refuse strings",
    async check({ run }) {
      const { result } = await run(`
        const attempts = [
          () => eval("1"), () => (0, eval)("1"), () => new Function("return 1")(), () => Function("return 1")(),
          () => (async () => {}).constructor("return 1")(), () => (function* () {}).constructor("return 1")(),
          () => (async function* () {}).constructor("return 1")(), () => console.log.constructor("return 1")(),
        ];
        return attempts.map((attempt) => { try { attempt(); return "ran"; } catch (e) { return e instanceof EvalError; } });`);
      expect(result).toEqual(Array(8).fill(true));
    },
  },
  {
    id: "globals.eval-allowed",
    sentence: "allowEval turns eval and new Function on",
    async check({ withConfig }) {
      const { result } = await withConfig({ allowEval: true }, ({ run }) =>
        run("return [eval('1+1'), new Function('return 3')()]"),
      );
      expect(result).toEqual([2, 3]);
    },
  },
  {
    id: "globals.import-in-eval",
    sentence:
      "import() in what allowEval lets a script evaluate rejects with an error of the script's own realm",
    async check({ withConfig }) {
      const { result } = await withConfig({ allowEval: true }, ({ run }) =>
        run(`
          const make = [(name) => eval("import(name)"), (name) => (0, eval)("(name) => import(name)")(name), new Function("name", "return import(name)")];
          const errors = await Promise.all(make.map((importing) => importing("node:fs").catch((error) => error)));
          return errors.map((error) => error instanceof Error && error.constructor.constructor("return globalThis")() === globalThis);`),
      );
      expect(result).toEqual([true, true, true]);
    },
  },
  {
    id: "globals.wasm-allowed",
    sentence: "allowWasm turns WebAssembly on",
    async check({ withConfig }) {
      const code =
        "const m = await WebAssembly.compile(new Uint8Array([0,97,115,109,1,0,0,0])); return m instanceof WebAssembly.Module";
      const { result, error } = await withConfig({ allowWasm: true }, ({ run }) => run(code));
      expect([error, result]).toEqual([undefined, true]);
    },
  },
  {
    id: "globals.strict",
    sentence: "scripts run in strict mode",
    async check({ run }) {
      const { result } = await run(`
        const self = (function () { return this; })();
        let name; try { undeclared = 1; } catch (e) { name = e.name; }
        return [self === undefined, name];`);
      expect(result).toEqual([true, "ReferenceError"]);
    },
  },
  {
    id: "globals.frozen",
    sentence: "cyrnel is frozen and neither cyrnel nor tools can be replaced",
    async check({ run }) {
      const { result } = await run(`
        const attempt = (f) => { try { f(); return "done"; } catch (e) { return e.name; } };
        return [Object.isFrozen(cyrnel), Object.isFrozen(cyrnel.process), attempt(() => { cyrnel.output = 1; }),
          attempt(() => { globalThis.cyrnel = 1; }), attempt(() => { globalThis.tools = 1; })];`);
      expect(result).toEqual([true, true, "TypeError", "TypeError", "TypeError"]);
    },
  },
  {
    id: "globals.process-info",
    sentence: "cyrnel.process tells the process id and its ref",
    async check({ start }) {
      const named = start("return cyrnel.process", { ref: "nightly" });
      expect((await named.done).result).toEqual({ id: named.eid, ref: "nightly" });
      const plain = start("return cyrnel.process");
      expect((await plain.done).result).toEqual({ id: plain.eid, ref: null });
    },
  },
  {
    id: "globals.url",
    sentence: "URL and URLSearchParams follow the standard, international names included",
    async check({ run }) {
      const { result } = await run(`
        const url = new URL("../c?d=1#e", "https://user:pass@Example.com:8443/a/b");
        url.searchParams.append("f", "ä b");
        return [url.href, url.origin, new URL("http://münchen.de/").hostname, URL.canParse("nope"),
          [...new URLSearchParams("a=1&b=2").entries()], URL.name];`);
      expect(result).toEqual([
        "https://user:pass@example.com:8443/c?d=1&f=%C3%A4+b#e",
        "https://example.com:8443",
        "xn--mnchen-3ya.de",
        false,
        [
          ["a", "1"],
          ["b", "2"],
        ],
        "URL",
      ]);
    },
  },
  {
    id: "globals.encoding",
    sentence: "text is encoded and decoded as UTF-8, base64 both ways",
    async check({ run }) {
      const { result } = await run(`
        const bytes = new TextEncoder().encode("hü€😀");
        let refused; try { btoa("€"); } catch (e) { refused = [e.name, e instanceof DOMException]; }
        let fatal; try { new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array([255])); } catch (e) { fatal = e.name; }
        return [bytes.length, new TextDecoder().decode(bytes), btoa("hello"), atob(" aGVs bG8= "), refused, fatal];`);
      expect(result).toEqual([
        10,
        "hü€😀",
        "aGVsbG8=",
        "hello",
        ["InvalidCharacterError", true],
        "TypeError",
      ]);
    },
  },
  {
    id: "globals.structured-clone",
    sentence: "structuredClone copies deeply and refuses functions with a DataCloneError",
    async check({ run }) {
      const { result } = await run(`
        const source = { date: new Date(5), map: new Map([["k", new Set([1])]]), bytes: new Uint8Array([1, 2]) };
        source.self = source;
        const copy = structuredClone(source);
        let refused; try { structuredClone({ f() {} }); } catch (e) { refused = e.name; }
        return [copy !== source, copy.self === copy, copy.date.getTime(), copy.map.get("k").has(1), [...copy.bytes], refused];`);
      expect(result).toEqual([true, true, 5, true, [1, 2], "DataCloneError"]);
    },
  },
  {
    id: "globals.abort",
    sentence: "AbortController and AbortSignal abort, time out and combine",
    async check({ run }) {
      const { result } = await run(`
        const controller = new AbortController();
        const any = AbortSignal.any([controller.signal, AbortSignal.timeout(60_000)]);
        const seen = [];
        any.addEventListener("abort", (event) => seen.push(event.type), { once: true });
        any.onabort = () => seen.push("onabort");
        controller.abort(new TypeError("stop"));
        let thrown; try { any.throwIfAborted(); } catch (e) { thrown = e.message; }
        const timeout = AbortSignal.timeout(5);
        await new Promise((resolve) => timeout.addEventListener("abort", resolve));
        return [seen, any.reason.name, thrown, timeout.reason.name, AbortSignal.abort().reason.name];`);
      expect(result).toEqual([["abort", "onabort"], "TypeError", "stop", "TimeoutError", "AbortError"]);
    },
  },
  {
    id: "globals.custom-event",
    sentence: "a CustomEvent is an Event that carries a detail",
    async check({ run }) {
      const { error, result } = await run(`
        const target = new EventTarget(); const seen = [];
        target.addEventListener("sum", (event) => { event.preventDefault(); seen.push(event.detail, event.type, event.target === target, event instanceof Event); });
        const detail = { a: 1 };
        const given = new CustomEvent("sum", { detail, cancelable: true });
        const went = target.dispatchEvent(given);
        try { "use strict"; given.detail = 2; } catch (e) { seen.push(e.name) }
        class Named extends CustomEvent { constructor(value) { super("named", { detail: value }); } }
        return [seen, went, given.detail === detail, new CustomEvent("x").detail, new CustomEvent("x", { detail: 0 }).detail, new Named(7).detail, Object.prototype.toString.call(given), CustomEvent.name, typeof self]`);
      expect(error).toBeUndefined();
      expect(result).toEqual([
        [{ a: 1 }, "sum", true, true, "TypeError"],
        false,
        true,
        null,
        0,
        7,
        "[object CustomEvent]",
        "CustomEvent",
        "undefined",
      ]);
    },
  },
  {
    id: "globals.timers",
    sentence: "timers fire in order, repeat, can be cleared and take odd values as Node does",
    async check({ run }) {
      const { result } = await run(`
        const seen = [];
        const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
        const late = new Promise((resolve) => setTimeout(() => { seen.push("late"); resolve(); }, 400));
        setTimeout((a, b) => seen.push(a + b), 5, "arg", "s");
        clearTimeout(setTimeout(() => seen.push("cleared"), 1));
        const cleared = setImmediate(() => seen.push("cleared")); clearImmediate(cleared);
        queueMicrotask(() => seen.push("microtask"));
        setImmediate(() => seen.push("immediate"));
        let ticks = 0;
        const interval = setInterval(() => { if (++ticks === 3) clearInterval(interval); }, 2);
        setTimeout(() => seen.push("negative"), -5); setTimeout(() => {}, Infinity); clearTimeout(undefined); clearTimeout(99);
        await late;
        while (ticks < 3) await wait(5);
        await wait(20);
        let refused; try { setTimeout("code"); } catch (e) { refused = e.name; }
        return { seen: [seen[0], seen.includes("negative"), seen.indexOf("args") < seen.indexOf("late"), seen.includes("immediate"), seen.includes("cleared")], ticks, refused };`);
      expect(result).toEqual({
        seen: ["microtask", true, true, true, false],
        ticks: 3,
        refused: "TypeError",
      });
    },
  },
  {
    id: "globals.clock",
    sentence: "performance.now never runs backwards and Intl formats",
    async check({ run }) {
      const { result } = await run(`
        const first = performance.now(); await new Promise((r) => setTimeout(r, 10)); const second = performance.now();
        return [second > first, new Intl.NumberFormat("de-DE").format(1234.5), new Date(0).getTimezoneOffset()];`);
      expect(result).toEqual([true, "1.234,5", 0]);
    },
  },
];
