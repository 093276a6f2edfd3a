/** One run leaves nothing to the next one, although they share a process. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type IvmHarness, listSlotPids, openIvm } from "./ivm-environment.ts";

let ivm: IvmHarness;
let answers: PromiseWithResolvers<unknown>;
beforeAll(async () => {
  // One slot: every run here follows the one before in the same process.
  ivm = await openIvm({ slots: 1 }, async ({ parameters, toolId }) =>
    toolId === "wait" ? answers.promise : parameters,
  );
});
afterAll(() => ivm[Symbol.asyncDispose]());

test("runs share the process, so that the other tests here mean something", async () => {
  const [before] = listSlotPids();
  expect(await ivm.run("return 1")).toMatchObject({ state: "success" });
  expect(await ivm.run("return 2")).toMatchObject({ state: "success" });
  expect(listSlotPids()).toEqual([before]);
});

test("globals, prototypes, built-ins and symbols of a run are gone in the next", async () => {
  await ivm.run(`
    globalThis.left = 1;
    Object.prototype.left = 1;
    Array.prototype.push = () => 99;
    JSON.stringify = () => '"forged"';
    Symbol.for("left").description;
    Promise.prototype.then = function () {};
    String.prototype.startsWith = () => true;
    return 1;
  `);
  const next = await ivm.run(`
    return [typeof left, ({}).left === undefined, [].push(1), JSON.stringify(1), await Promise.resolve(2), "a".startsWith("b")];
  `);
  expect(next.result).toEqual(["undefined", true, 1, "1", 2, false]);
});

test("timers of a run that ended never fire in the next", async () => {
  await ivm.run(
    "setInterval(() => console.log('left over'), 1); setTimeout(() => console.log('left over'), 30); return 1",
  );
  const next = await ivm.run("await new Promise((r) => setTimeout(r, 150)); return 2");
  expect(next).toMatchObject({ state: "success", stdout: "", result: 2 });
});

test("a late answer to a call of a run that ended does not reach the next, whose call has the same id", async () => {
  answers = Promise.withResolvers();
  const first = await ivm.run("tools.a.wait({}).catch(() => {}); throw new Error('first')");
  expect(first).toMatchObject({ state: "failed", error: { message: "first" } });
  const late = answers;
  answers = Promise.withResolvers();
  const { over } = ivm.start("return await tools.a.wait({})");
  await new Promise((resolve) => setTimeout(resolve, 50));
  late.resolve("of the first");
  await new Promise((resolve) => setTimeout(resolve, 50));
  answers.resolve("of the second");
  expect(await over).toMatchObject({ state: "success", result: "of the second" });
});

test("random numbers differ from run to run", async () => {
  const code = "return [crypto.randomUUID(), Math.random()]";
  const [a, b] = [await ivm.run(code), await ivm.run(code)];
  expect(a.result).not.toEqual(b.result);
});

describe("what a script can reach", () => {
  test("no object of the process or of the library", async () => {
    const { result } = await ivm.run(`
      const names = ["process", "require", "module", "global", "Buffer", "ivm", "emit", "install", "realm", "SharedArrayBuffer", "Atomics", "WebAssembly"];
      return names.filter((name) => name in globalThis);
    `);
    expect(result).toEqual([]);
  });

  test("no code from strings, by any of its names", async () => {
    const { result } = await ivm.run(`
      const AsyncFunction = (async () => {}).constructor;
      const ways = [
        () => eval("1"), () => (0, eval)("1"), () => Function("1"), () => new Function("1"),
        () => (() => {}).constructor("1"), () => AsyncFunction("1"), () => (function* () {}).constructor("1"),
        () => (async function* () {}).constructor("1"), () => Reflect.construct(Function, ["1"]),
        () => new (class extends Function {})("1"), () => Object.getPrototypeOf(AsyncFunction)("1"),
        () => console.log.constructor("1"), () => setTimeout.constructor("1"),
      ];
      return ways.map((way) => { try { way(); return "made"; } catch (error) { return error instanceof EvalError ? "EvalError" : String(error); } });
    `);
    expect(result).toEqual(Array(13).fill("EvalError"));
  });

  test("functions are still what they were", async () => {
    const { result } = await ivm.run(`
      return [(() => {}) instanceof Function, Function.prototype === Object.getPrototypeOf(() => {}), Function.name, Function.length, eval(5), typeof Function.prototype.bind];
    `);
    expect(result).toEqual([true, true, "Function", 1, 5, "function"]);
  });

  test("stacks show submitted lines and nothing of the process", async () => {
    const { error } = await ivm.run(
      "type A = 1;\nconst f = () => {\n  throw new RangeError('deep')\n};\nawait null;\n[1].forEach(f);",
    );
    expect(error).toMatchObject({ name: "RangeError", line: 3, column: 9 });
    expect(error?.stack).not.toMatch(/node:|cyrnel:|\/work|slot|isolated|boundary/);
  });

  test("an unhandled rejection fails the run at its line, without a path of the process", async () => {
    const run = await ivm.run(
      "\nPromise.reject(new RangeError('lost'));\nawait new Promise((r) => setTimeout(r, 1000));",
    );
    expect(run).toMatchObject({
      state: "failed",
      error: {
        reason: "unhandled_rejection",
        name: "RangeError",
        message: "A promise was rejected, and no code handled it: lost",
        line: 2,
      },
    });
    expect(run.error?.stack).not.toMatch(/node:|cyrnel:|\/work|slot|isolated|boundary/);
  });
});

const GLOBALS_WITH_LIBRARIES = `
  const url = new URL("https://m\u00fcnchen.example/a?b=c");
  console.log(new Map([[1, { a: url.hostname }]]));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode("abc")));
  const signal = AbortSignal.abort();
  return [url.host, url.searchParams.get("b"), digest.slice(0, 4).toHex(), structuredClone(new Date(0)).getTime(), atob(btoa("x")), signal.aborted];
`;
const LIBRARY_RESULT = ["xn--mnchen-3ya.example", "c", "ba7816bf", 0, "x", true];

test("globals that load code work in a slot's first run and in later ones, which find it compiled", async () => {
  await using fresh = await openIvm({ slots: 1 });
  for (let n = 0; n < 3; n++) {
    expect(await fresh.run(GLOBALS_WITH_LIBRARIES)).toMatchObject({
      state: "success",
      result: LIBRARY_RESULT,
      stdout: "Map(1) { 1 => { a: 'xn--mnchen-3ya.example' } }\n",
    });
  }
});

test("code that is loaded late for one run is not what a run before made of it", async () => {
  await ivm.run(
    "new URL('http://a/'); URL.prototype.toString = () => 'forged'; crypto.randomUUID = () => 'forged'; return 1",
  );
  const { result } = await ivm.run("return [String(new URL('http://a/')), crypto.randomUUID().length]");
  expect(result).toEqual(["http://a/", 36]);
});

test("eval and WebAssembly exist when they are allowed", async () => {
  await using allowed = await openIvm({ slots: 1, allowEval: true, allowWasm: true });
  const run = await allowed.run(`
    const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
    const { instance } = await WebAssembly.instantiate(bytes);
    return [eval("1 + 1"), new Function("return 3")(), typeof instance];
  `);
  expect(run).toMatchObject({ state: "success", result: [2, 3, "object"] });
  expect(await allowed.run(GLOBALS_WITH_LIBRARIES)).toMatchObject({ result: LIBRARY_RESULT });
});
