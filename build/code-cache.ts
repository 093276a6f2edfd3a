/**
 * Run by runner.ts in a Node with a child's flags: packs the realm with V8 code caches. They are created after
 * scripts have run, so that they contain exactly the functions that runs need. Arguments: sources as JSON, path of
 * the pack to write.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import v8 from "node:v8";
import vm from "node:vm";
import { encodeRealmPack, type RealmPart } from "#runner/child/realm-pack.ts";

/** Typical of most scripts, without libraries: a larger cache of the core slows every start. */
const COMMON_SCRIPT = `(async () => {
  "use strict";
  console.log("text", 1, true, { name: "a", list: [1, "b", null], nested: { deep: {} } });
  console.error("text");
  cyrnel.output({ done: 1 });
  await tools.service.tool({ text: "a", list: [1, 2], flag: true });
  await tools.service.fails({}).catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, 1));
  return { items: [{ id: 1, name: "a", price: 1.5, active: false, note: null }] };
})`;
/** Uses each library as scripts do, except international host names, whose tables are larger than everything else. */
const LIBRARY_SCRIPT = `(async (module) => {
  "use strict";
  class Point { x = 1; }
  console.log(new Map([["a", { b: [1] }]]), new Set([1]), new Point(), new Date(0), /x/, () => 1, "it's\\n", [new Point()]);
  console.log("%s has %d: %o", "a", 1, { a: 1 });
  console.error(new TypeError("x", { cause: new Error("y") }));
  console.table([{ a: 1 }, { b: 2 }]);
  const url = new URL("https://example.com:8080/a/b?c=d#e");
  url.searchParams.append("f", "g h");
  console.log(url.href, url, [...url.searchParams]);
  new TextDecoder().decode(new TextEncoder().encode("text ä"));
  atob(btoa("text"));
  structuredClone({ a: [1, new Date(0), new Map([["b", new Set([1])]])], c: new Uint8Array(2) });
  const controller = new AbortController();
  controller.signal.addEventListener("abort", () => {});
  AbortSignal.any([controller.signal]);
  controller.abort();
  crypto.randomUUID();
  crypto.getRandomValues(new Uint8Array(4));
  await crypto.subtle.digest("SHA-256", new Uint8Array(4));
  const key = await crypto.subtle.importKey("raw", new Uint8Array(4), { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
  await crypto.subtle.verify("HMAC", key, await crypto.subtle.sign("HMAC", key, new Uint8Array(4)), new Uint8Array(4));
  performance.now();
  const [{ Buffer }, { EventEmitter }, { Readable, Transform, promises }] = ["buffer", "events", "stream"].map(module);
  new EventEmitter().once("a", () => {}).emit("a");
  await promises.pipeline(Readable.from(["a"]), new Transform({ transform: (chunk, _, done) => done(null, chunk) }), async function* (all) {
    for await (const chunk of all) Buffer.from(chunk).toString("hex");
  });
  module("crypto").createHash("sha256").update("a").digest("hex");
  module("crypto").createHmac("sha256", "a").update("b").digest("base64");
  for (const name of ["md5", "sha1", "sha512", "sha3-256"]) module("crypto").hash(name, "a");
  module("crypto").pbkdf2Sync("a", "b", 1, 8, "sha256");
  module("crypto").scryptSync("a", "b", 8, { N: 2 });
  module("crypto").hkdfSync("sha256", "a", "b", "c", 8);
  module("util").inspect(module("util").promisify(() => {}));
  module("assert").deepStrictEqual({ a: [1] }, { a: [1] });
  module("path").join("a", module("path").relative("b", "c"));
  module("url").fileURLToPath("file:///a");
  await module("timers/promises").setTimeout(1);
  const fs = module("fs");
  fs.mkdirSync("a/b", { recursive: true });
  fs.readdirSync("a", { withFileTypes: true });
  fs.existsSync("a");
  await fs.promises.readFile("none").catch(() => {});
  const form = new FormData();
  form.append("a", "b");
  form.append("c", new File(["d"], "e.txt", { type: "text/plain" }));
  await new Response(form).formData();
  const request = new Request("https://example.com/a?b=c", { method: "POST", headers: { a: "b" }, body: JSON.stringify({ a: 1 }), signal: AbortSignal.any([]) });
  const response = await fetch(request.clone());
  console.log(response, response.headers, form, Response.json({ a: 1 }).status);
  response.headers.get("content-type");
  for (const pair of response.headers) pair.at(0);
  await response.clone().json();
  await response.arrayBuffer();
  await fetch("https://example.com/", { method: "PUT", body: new Uint8Array(4) }).then((answered) => answered.text());
  await new Response(new URLSearchParams({ a: "b" })).text();
  const blob = new Blob(["text", new Uint8Array(2)]).slice(1);
  await blob.arrayBuffer();
  await blob.text();
  for await (const chunk of new Response("text").clone().body) chunk.at(0);
  await blob.stream().pipeThrough(new TransformStream()).pipeTo(new WritableStream({ write() {} }));
  await new Response(new ReadableStream({ pull(controller) { controller.enqueue(new Uint8Array(1)); controller.close(); } })).text();
  for await (const chunk of ReadableStream.from(["text"]).pipeThrough(new TextEncoderStream()).pipeThrough(new TextDecoderStream())) chunk.at(0);
  await module("cyrnel:link")([
    { targets: [1, "path"], statics: 2, calls: {}, names: {}, places: {}, stars: [], run: (require, namespace, define) => define(async (exports, turn) => { exports({ a: () => require(0) }); await turn; }) },
    { json: "{}" },
  ]);
})`;
const MAX_TURNS = 100;
const MAX_BYTES = 1 << 20;

interface Used {
  core: vm.Script;
  libraries: Map<string, vm.Script>;
}

const [sourcesPath, packPath] = process.argv.slice(2) as [string, string];
const sources = JSON.parse(readFileSync(sourcesPath, "utf8")) as {
  main: string;
  core: string;
  libraries: Record<string, string>;
};

/**
 * Compiles the child's own code with all its functions, since nearly all of them run in each child; running them here
 * would turn this process into a child. The flag is reset before the cache is created, or V8 would reject the cache.
 */
function compileWhole(source: string): vm.Script {
  v8.setFlagsFromString("--no-lazy");
  const script = new vm.Script(source, { filename: "cyrnel:child" });
  v8.setFlagsFromString("--lazy");
  return script;
}

async function warmUp(code: string): Promise<Used> {
  const codeGeneration = { strings: false, wasm: false };
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY, { codeGeneration });
  const used: Used = {
    core: new vm.Script(sources.core, { filename: "cyrnel:realm" }),
    libraries: new Map(),
  };
  const load = (name: string) => {
    const script = new vm.Script(sources.libraries[name] ?? "", { filename: "cyrnel:realm" });
    used.libraries.set(name, script);
    return script.runInContext(context);
  };
  const queue: string[] = [];
  let end: { ok: boolean } | undefined;
  const emit = (text: string) => {
    const { id, method, params } = JSON.parse(text);
    if (method === "end") end = params;
    if (method === "timer") queue.push(JSON.stringify({ method, params: { id: params.id } }));
    if (id !== undefined) queue.push(JSON.stringify({ jsonrpc: "2.0", id, ...reply(params) }));
  };
  const realm = used.core.runInContext(context)(load)(emit, false);
  realm.receive(JSON.stringify({ method: "start", params }), vm.runInContext(code, context, "script.ts"));
  for (let turn = 0; turn < MAX_TURNS && end === undefined; turn++) {
    await setImmediate();
    const text = queue.shift();
    if (text === undefined) realm.turn();
    else realm.receive(text);
  }
  if (!end?.ok) throw new Error(`A script that fills a code cache did not succeed: ${JSON.stringify(end)}`);
  return used;
}

function reply({ serviceId, toolId }: { serviceId?: string; toolId?: string }): object {
  if (serviceId === "fetch") {
    const headers = [["content-type", "application/json"]];
    const answer = { status: 200, statusText: "OK", headers, url: "https://example.com/", redirected: false };
    return { result: { answer: { ...answer, body: { text: '{"a":1}' } }, size: null } };
  }
  const data = { name: "Error", message: "fails", code: "x", status: 1 };
  return toolId === "fails"
    ? { error: { code: -32000, message: "fails", data } }
    : { result: { items: [1] } };
}

const params = {
  mappings: "AAAA",
  process: { id: 1, ref: null },
  seed: Buffer.alloc(32).toString("base64"),
  randomSeed: [1, 2, 3, 4],
  readsWideClocks: false,
  limits: {
    maxConcurrentCalls: 8,
    maxCalls: 16,
    maxMessageBytes: MAX_BYTES,
    maxStdoutBytes: MAX_BYTES,
    maxStderrBytes: MAX_BYTES,
    maxOutputBytes: MAX_BYTES,
    maxResultBytes: MAX_BYTES,
  },
};

function makePart(source: string, script?: vm.Script): RealmPart {
  return { source: Buffer.from(source, "latin1"), cache: script?.createCachedData() ?? Buffer.alloc(0) };
}

// Creates the core's cache before the library script runs: both compile the same core.
const common = await warmUp(COMMON_SCRIPT);
const core = makePart(sources.core, common.core);
const { libraries: used } = await warmUp(LIBRARY_SCRIPT);
const main = makePart(sources.main, compileWhole(sources.main));
const libraries: Record<string, RealmPart> = {};
for (const [name, source] of Object.entries(sources.libraries))
  libraries[name] = makePart(source, used.get(name));
writeFileSync(`${packPath}.${process.pid}`, encodeRealmPack({ main, core, libraries }));
renameSync(`${packPath}.${process.pid}`, packPath);
