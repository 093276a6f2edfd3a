/**
 * Run by build.ts in a Node with the flags of a child: writes the V8 code cache of the realm, taken after a script has
 * run in it, so that it holds the functions most runs need and no others. Arguments: bundle, cache file.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import vm from "node:vm";

/** What most scripts do. What loads a library, as reading a stack does, is left out: it would make every start slower. */
const SCRIPT = `(async () => {
  "use strict";
  console.log("text", 1, true, { name: "a", list: [1, "b", null], nested: { deep: {} } });
  console.error("text");
  cyrnel.output({ done: 1 });
  await tools.service.tool({ text: "a", list: [1, 2], flag: true });
  await tools.service.fails({}).catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, 1));
  return { items: [{ id: 1, name: "a", price: 1.5, active: false, note: null }] };
})`;
/** Loop turns the script above needs, and some. */
const MAX_TURNS = 50;

const [bundle, cache] = process.argv.slice(2) as [string, string];
const context = vm.createContext(vm.constants.DONT_CONTEXTIFY, {
  codeGeneration: { strings: false, wasm: false },
});
const script = new vm.Script(readFileSync(bundle, "latin1"), { filename: "cyrnel:realm" });
const queue: string[] = [];
let hasEnded = false;

function emit(text: string): void {
  const { id, method, params } = JSON.parse(text);
  if (method === "end") hasEnded = params.ok;
  if (method === "timer") queue.push(JSON.stringify({ method, params: { id: params.id } }));
  if (id === undefined) return;
  const error = {
    code: -32000,
    message: "fails",
    data: { name: "Error", message: "fails", code: "x", status: 1 },
  };
  const reply = params.toolId === "fails" ? { error } : { result: { items: [1] } };
  queue.push(JSON.stringify({ jsonrpc: "2.0", id, ...reply }));
}

const realm = script.runInContext(context)(emit, false);
const big = 1 << 20;
const limits = {
  maxConcurrentCalls: 8,
  maxCalls: 8,
  maxMessageBytes: big,
  maxStdoutBytes: big,
  maxStderrBytes: big,
  maxOutputBytes: big,
  maxResultBytes: big,
};
const params = {
  mappings: "AAAA",
  process: { id: 1, ref: null },
  seed: Buffer.alloc(32).toString("base64"),
  limits,
};
realm.receive(JSON.stringify({ method: "start", params }), vm.runInContext(SCRIPT, context, "script.ts"));
for (let turn = 0; turn < MAX_TURNS && !hasEnded; turn++) {
  await setImmediate();
  const text = queue.shift();
  if (text === undefined) realm.turn();
  else realm.receive(text);
}
if (!hasEnded) throw new Error("The script that fills the code cache did not succeed.");
writeFileSync(`${cache}.${process.pid}`, script.createCachedData());
renameSync(`${cache}.${process.pid}`, cache);
