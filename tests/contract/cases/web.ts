/** Cases: the classes around fetch do what those of Node do. Each line is run in a script and in Node, and must come to the same. */
import { inspect } from "node:util";
import { expect } from "vitest";
import type { EnvironmentCase } from "../bench.ts";

type Evaluate = () => Promise<unknown>;
const AsyncFunction = (async () => {}).constructor as new (code: string) => Evaluate;

/** Expressions; what they throw is compared by its name. */
const HEADERS = [
  "[...new Headers({ b: '1', A: ' 2 ', 'x-c': '' })]",
  "[...new Headers([['a', '1'], ['A', '2'], ['set-cookie', 'x'], ['Set-Cookie', 'y']])]",
  "new Headers([['set-cookie', 'x'], ['set-cookie', 'y']]).getSetCookie()",
  "new Headers({ a: '1' }).get('b')",
  "new Headers(new Headers({ a: '1' })).get('A')",
  "[...new Headers(new Map([['k', 'v']])).keys()]",
  "(() => { const h = new Headers({ a: '1', b: '2' }); h.append('a', '3'); h.set('b', '4'); h.delete('c'); h.set('D', '5'); return [...h.entries()]; })()",
  "(() => { const h = new Headers({ a: '1', b: '2' }); const seen = []; for (const [k] of h) { seen.push(k); h.delete('b'); h.set('c', 'x'); } return seen; })()",
  "(() => { const seen = []; new Headers({ a: '1', b: '2' }).forEach((v, k, h) => seen.push(v, k, h instanceof Headers)); return seen; })()",
  "new Headers({ 'a b': '1' })",
  "new Headers({ a: '1\\n2' })",
  "new Headers({ a: 'ü' }).get('a')",
  "new Headers({ a: '€' })",
  "new Headers(null)",
  "new Headers('a')",
  "new Headers([['a']])",
  "new Headers([['a', 'b', 'c']])",
  "new Headers().append('a')",
  "Response.error().headers.set('a', 'b')",
  "Object.prototype.toString.call(new Headers()[Symbol.iterator]())",
  "Headers.prototype.get.call({}, 'a')",
  "Object.keys(Headers.prototype).sort()",
  "[Headers.name, Headers.length, new Headers() + '', Headers.prototype.append.length]",
];

const BODIES = [
  "new Response('a ü').text()",
  "new Response('{\"a\":[1]}').json()",
  "new Response('{').json()",
  "new Response().text()",
  "new Response(null).body",
  "new Response('').body === null",
  "new Response(new Uint8Array([1, 2])).bytes().then((b) => [...b])",
  "new Response(new Uint8Array([0, 1, 2, 3]).subarray(1, 3)).arrayBuffer().then((b) => [...new Uint8Array(b)])",
  "new Response(new DataView(new ArrayBuffer(2))).arrayBuffer().then((b) => b.byteLength)",
  "new Response(new Blob(['x'], { type: 'a/b' })).blob().then((b) => [b.size, b.type])",
  "new Response('x').blob().then((b) => b.type)",
  "new Response(new URLSearchParams('a=b&c=%20')).formData().then((f) => [...f])",
  "new Response('a=b', { headers: { 'content-type': 'application/x-www-form-urlencoded' } }).formData().then((f) => [...f])",
  "new Response('a=b').formData()",
  "(async () => { const f = new FormData(); f.append('a', 'b\\n'); f.append('c', new File(['x'], 'n.txt')); const g = await new Response(f).formData(); return [g.get('a'), g.get('c').name, await g.get('c').text()]; })()",
  "(async () => { const r = new Response('x'); await r.text(); return [r.bodyUsed, await r.text().catch((e) => e.name)]; })()",
  "(async () => { const r = new Response('x'); const c = r.clone(); return [await r.text(), await c.text(), c.bodyUsed]; })()",
  "(async () => { const r = new Response('x'); await r.text(); return r.clone(); })()",
  "(async () => { const r = new Response('abc'); const reader = r.body.getReader(); const { value } = await reader.read(); return [[...value], r.bodyUsed, r.body.locked]; })()",
  "(async () => { const r = new Response('abc'); r.body.getReader(); return r.text(); })()",
  "(async () => { const r = new Response('abc'); const parts = []; for await (const part of r.body) parts.push(...part); return parts; })()",
  "(async () => { const r = new Response('abc'); r.body; const c = r.clone(); return [await r.text(), await c.text()]; })()",
  "(async () => { const r = new Response('abc'); await r.body.cancel(); return [r.bodyUsed, await r.text().catch((e) => e.name)]; })()",
  "new Response(new ReadableStream({ start(c) { c.enqueue(new Uint8Array([97])); c.enqueue(new Uint8Array([98])); c.close(); } })).text()",
  "new Response(new ReadableStream({ start(c) { c.enqueue('text'); c.close(); } })).text()",
  "new Response(new ReadableStream({ start(c) { c.error(new RangeError('x')); } })).text()",
  "(async () => { const s = new ReadableStream(); s.getReader(); return new Response(s); })()",
  "new Response('\\ufeffa').text().then((t) => t.length)",
  "new Response(new Uint8Array([0xef, 0xbb, 0xbf, 97])).text().then((t) => t.length)",
  "new Response('a\\ud800').text()",
  "Response.prototype.text.call({})",
  "new Response(Symbol())",
  "new Response({ toString: () => 'made' }).text()",
  "new Response([1, 2]).text()",
  "new Response('abc').body.getReader({ mode: 'byob' }).read(new Uint8Array(2)).then(({ value }) => [...value])",
];

const RESPONSES = [
  "(() => { const { status, statusText, ok, type, url, redirected, bodyUsed } = new Response('x', { status: 201, statusText: 'Made' }); return { status, statusText, ok, type, url, redirected, bodyUsed }; })()",
  "[...new Response('x').headers]",
  "[...new Response('x', { headers: { 'content-type': 'a/b' } }).headers]",
  "new Response('x', { status: 199 })",
  "new Response('x', { status: 600 })",
  "new Response('x', { status: 204 })",
  "new Response(null, { status: 204 }).status",
  "new Response('', { statusText: '\\n' })",
  "(() => { const { status, type, statusText, body } = Response.error(); return { status, type, statusText, body }; })()",
  "(() => { const r = Response.redirect('http://a.test/x y', 307); return [r.status, r.headers.get('location'), r.body]; })()",
  "Response.redirect('http://a.test/', 200)",
  "Response.redirect('/a')",
  "(async () => { const r = Response.json({ a: 1 }, { status: 202 }); return [r.status, [...r.headers], await r.text()]; })()",
  "Response.json(undefined)",
  "Response.json(Symbol())",
  "Response.json({ a: 1 }, { headers: { 'content-type': 'x/y' } }).headers.get('content-type')",
  "Object.prototype.toString.call(new Response())",
  "[Response.name, Response.length]",
];

const REQUESTS = [
  "(() => { const { method, url, mode, credentials, cache, redirect, referrer, referrerPolicy, integrity, keepalive, destination, duplex } = new Request('http://a.test/b?c#d'); return { method, url, mode, credentials, cache, redirect, referrer, referrerPolicy, integrity, keepalive, destination, duplex }; })()",
  "['get', 'Post', 'pAtCh', 'delete', 'x'].map((method) => new Request('http://a.test', { method }).method)",
  "new Request('http://a.test', { method: 'TRACE' })",
  "new Request('http://a.test', { method: 'a b' })",
  "new Request('/a')",
  "new Request('http://u:p@a.test')",
  "new Request('http://a.test', { body: 'x' })",
  "new Request('http://a.test', { method: 'HEAD', body: '' })",
  "new Request('http://a.test', { mode: 'navigate' })",
  "new Request('http://a.test', { cache: 'what' })",
  "new Request('http://a.test', { redirect: 'what' })",
  "new Request('http://a.test', { window: 1 })",
  "new Request('http://a.test', { signal: {} })",
  "new Request('http://a.test', { cache: 'only-if-cached' })",
  "new Request('http://a.test', { method: 'POST', body: new ReadableStream() })",
  "new Request('http://a.test', { method: 'POST', body: new ReadableStream(), duplex: 'half' }).duplex",
  "new Request('http://a.test', { method: 'POST', body: 'x' }).text()",
  "[...new Request('http://a.test', { method: 'POST', body: 'x', headers: { b: 'c' } }).headers]",
  "(async () => { const a = new Request('http://a.test', { method: 'POST', body: 'x', headers: { k: 'v' } }); const b = new Request(a); return [a.bodyUsed, b.method, await b.text(), b.headers.get('k')]; })()",
  "(async () => { const a = new Request('http://a.test', { method: 'POST', body: 'x' }); const b = new Request(a, { body: 'y' }); return [a.bodyUsed, await b.text()]; })()",
  "(async () => { const a = new Request('http://a.test', { method: 'POST', body: 'x' }); await a.text(); return new Request(a); })()",
  "(async () => { const a = new Request('http://a.test', { method: 'POST', body: 'x' }); const b = a.clone(); return [await a.text(), await b.text()]; })()",
  "(() => { const controller = new AbortController(); const r = new Request('http://a.test', { signal: controller.signal }); const copy = new Request(r); controller.abort('why'); return [r.signal.aborted, r.signal.reason, copy.signal.aborted, r.clone().signal.aborted, r.signal === r.signal, r.signal === controller.signal]; })()",
  "new Request(new URL('http://a.test/x')).url",
  "new Request('http://a.test', { referrer: '' }).referrer",
  "new Request('http://a.test', null).method",
  "new Request('http://a.test', 1)",
  "new Request()",
];

const FILES = [
  "(async () => { const b = new Blob(['a', new Uint8Array([98]), new Blob(['c']), new Uint8Array([100]).buffer], { type: 'X/Y' }); return [b.size, b.type, await b.text()]; })()",
  "new Blob(['a\\r\\nb\\n'], { endings: 'native' }).text()",
  "new Blob(['x'], { endings: 'what' })",
  "new Blob('x')",
  "new Blob(null)",
  "new Blob([1, null, undefined, {}]).text()",
  "new Blob(['a'], { type: 'te\\u0000xt' }).type",
  "(async () => { const b = new Blob(['abcdef']); return Promise.all([b.slice(1, 3).text(), b.slice(-2).text(), b.slice(2, -1).text(), b.slice(4, 2).text(), b.slice(0, 99, 'A/B').text()]); })()",
  "new Blob(['a'], { type: 'a/b' }).slice(0, 1).type",
  "new Blob(['abc']).arrayBuffer().then((b) => [...new Uint8Array(b)])",
  "new Blob(['abc']).bytes().then((b) => [...b])",
  "(async () => { let all = ''; for await (const chunk of new Blob(['abc', 'd']).stream()) all += new TextDecoder().decode(chunk); return all; })()",
  "(() => { const f = new File(['a'], 'n/x', { type: 't/t', lastModified: 5 }); return [f.name, f.size, f.type, f.lastModified, f instanceof Blob, f + '']; })()",
  "new File(['a'])",
  "typeof new File([], 'a').lastModified",
  "(() => { const f = new FormData(); f.append('a', 1); f.append('a', new Blob(['x'])); f.set('b', new File(['y'], 'n')); f.set('b', new File(['z'], 'm'), 'o'); return [...f].map(([k, v]) => [k, v.name ?? v, v.type]); })()",
  "(() => { const f = new FormData(); f.append('a', 'x'); f.append('b', 'y'); f.append('a', 'z'); f.set('a', 'new'); f.delete('b'); return [[...f], f.has('a'), f.has('b'), f.get('b'), f.getAll('a')]; })()",
  "(() => { const f = new FormData(); f.append('a', 'x', 'name'); })()",
  "new FormData({})",
  "new FormData().append('a')",
  "(() => { const f = new FormData(), file = new File(['x'], 'n'); f.append('a', file); return [f.get('a') === file, f + '', Object.prototype.toString.call(f.entries())]; })()",
  "Object.keys(FormData.prototype).sort()",
  "[Blob.name, File.name, File.length, FormData.name]",
];

const STREAMS = [
  "(async () => { const parts = []; for await (const part of ReadableStream.from(['a', 'b'])) parts.push(part); return parts; })()",
  "(async () => { const out = []; await ReadableStream.from([1, 2]).pipeThrough(new TransformStream({ transform: (n, c) => c.enqueue(n * 2) })).pipeTo(new WritableStream({ write: (n) => void out.push(n) })); return out; })()",
  "(async () => { const all = []; for await (const t of ReadableStream.from([new Uint8Array([0xc3]), new Uint8Array([0xbc])]).pipeThrough(new TextDecoderStream())) all.push(t); return all.join(''); })()",
  "(async () => { const all = []; for await (const b of ReadableStream.from(['\\ud83d', '\\ude00']).pipeThrough(new TextEncoderStream())) all.push(...b); return all; })()",
  "(async () => { const [a, b] = ReadableStream.from(['x']).tee(); const read = async (s) => (await s.getReader().read()).value; return [await read(a), await read(b)]; })()",
  "(async () => { const s = new ReadableStream({ pull(c) { c.enqueue(1); } }, new CountQueuingStrategy({ highWaterMark: 2 })); const r = s.getReader(); await r.cancel('x'); return r.read(); })()",
  "new ReadableStream({ type: 'bytes' }).getReader({ mode: 'byob' }) instanceof ReadableStreamBYOBReader",
  "new ReadableStream().getReader() instanceof ReadableStreamDefaultReader",
  "[ReadableStream, WritableStream, TransformStream, TextEncoderStream, TextDecoderStream, ByteLengthQueuingStrategy].map((c) => c.name)",
  "new TextDecoderStream('latin1').encoding",
  "new TextDecoderStream('nope')",
];

const PRINTED = [
  "new Headers({ b: '1', 'x-a': '2' })",
  "new Headers()",
  "new Response('x')",
  "new Response(null, { status: 404, statusText: 'No', headers: { a: 'b' } })",
  "Response.error()",
  "new Blob(['abc'], { type: 'a/b' })",
  "new File(['a'], 'n.txt', { lastModified: 1 })",
  "(() => { const f = new FormData(); f.append('a', '1'); f.append('b', new File(['x'], 'n', { lastModified: 1 })); f.append('a', '2'); return f; })()",
  "{ nested: { blob: new Blob([]) }, headers: new Headers({ a: 'b' }) }",
  "new ReadableStream()",
  "new WritableStream()",
];

/** In a script as in Node: what an expression comes to, as JSON data. */
const EVALUATE = (expressions: readonly string[]) => `
  const outcomes = [];
  for (const evaluate of [${expressions.map((expression) => `async () => (${expression})`).join(",\n")}]) {
    try { const value = await evaluate(); outcomes.push(JSON.parse(JSON.stringify({ value: value === undefined ? "undefined" : value }))); }
    catch (error) { outcomes.push({ error: error.name }); }
  }
  return outcomes;`;

function sameAsNode(id: string, what: string, expressions: readonly string[]): EnvironmentCase {
  return {
    id: `web.${id}`,
    sentence: `${what} behave as Node's`,
    async check({ run }) {
      const code = EVALUATE(expressions);
      const { result, error } = await run(code);
      expect(error).toBeUndefined();
      const expected = (await new AsyncFunction(code)()) as unknown[];
      const named = (outcomes: unknown[]) => expressions.map((text, index) => [text, outcomes[index]]);
      expect(named(result)).toEqual(named(expected));
    },
  };
}

export const webCases: EnvironmentCase[] = [
  sameAsNode("headers", "Headers", HEADERS),
  sameAsNode("bodies", "bodies", BODIES),
  sameAsNode("responses", "responses", RESPONSES),
  sameAsNode("requests", "requests", REQUESTS),
  sameAsNode("files", "Blob, File and FormData", FILES),
  sameAsNode("streams", "streams", STREAMS),
  {
    id: "web.printed",
    sentence: "console shows responses, headers, forms and files as Node does",
    async check({ run }) {
      const code = `return [${PRINTED.join(", ")}];`;
      const values = (await new AsyncFunction(code)()) as unknown[];
      const { stdout } = await run(`for (const value of [${PRINTED.join(", ")}]) console.log(value);`);
      expect(stdout).toBe(values.map((value) => `${inspect(value)}\n`).join(""));
    },
  },
  {
    id: "web.modules",
    sentence: "node:buffer has Blob and File, the same as the globals",
    async check({ run }) {
      const { result } = await run(`
        import { Blob as B, File as F } from "node:buffer";
        return [B === Blob, F === File];`);
      expect(result).toEqual([true, true]);
    },
  },
  {
    id: "web.lazy",
    sentence: "the classes can be replaced, as other globals",
    async check({ run }) {
      const { result } = await run(`
        globalThis.Response = 1;
        const described = Object.getOwnPropertyDescriptor(globalThis, "Headers");
        return [Response, typeof described.get, typeof Headers, Object.keys(globalThis).length];`);
      expect(result).toEqual([1, "function", "function", 0]);
    },
  },
];
