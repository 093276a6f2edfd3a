/** Probes: packages as an attacker would write them. They have what a script has; these try for more. */
import { expect } from "vitest";
import { bundleOf, type TestPackage } from "../../contract/packages.ts";
import { COLLECT, type Probe } from "./probe.ts";

/** A package that looks for loot while it is evaluated. */
const looting = (attack: string) => bundleOf({ ".": `${COLLECT}\n${attack}\nreturn { loot };` });

export const HOSTILE_PACKAGES: Record<string, TestPackage> = {
  "closes-parenthesis": {
    code: '(require)=>({".":()=>({})})); globalThis.escaped = 1; ((require)=>({".":()=>({})})',
  },
  "closes-bracket": {
    code: '(require)=>({".":()=>({})})]; globalThis.escaped = 1; [(require)=>({".":()=>({})})',
  },
  "is-statements": { code: 'globalThis.escaped = 1; (require)=>({".":()=>({})})' },
  "comments-out": { code: '((require)=>({".":()=>({a:1})})) //' },
  "opens-comment": { code: '((require)=>({".":()=>({})})) /*' },
  "names-its-source": {
    code: '((require)=>({".":()=>({ get stack() { return new Error("x").stack } })}))\n//# sourceURL=/etc/passwd\n//# sourceMappingURL=data:application/json,{}',
  },
  "is-a-number": { code: "42" },
  "answers-nothing": { code: "((require)=>undefined)" },
  "answers-a-proxy": {
    code: '((require)=>new Proxy({}, { get() { throw new Error("get") }, getOwnPropertyDescriptor() { throw new Error("own") } }))',
  },
  loots: looting(String.raw`
    take("require", require); take("require.constructor", require.constructor); take("this", this);
    for (const name of ["path", "fs", "buffer", "events", "stream", "util", "crypto"]) take(name, require(name));
    for (const name of ["cyrnel:link", "library-1", "./link.ts", "__proto__", "constructor", "vm", "process", "child_process", {}, null, Symbol()]) { try { note("a module: " + String(name) + typeof require(name)); } catch (error) { take("refusal", error); } }
    generate("Function", Function); generate("constructor of require", require.constructor);
    take("caller", (function f() { try { return f.caller } catch (error) { return error } })());
    (function g() { try { take("callee's caller", arguments.callee.caller); } catch (error) { take("error", error); } })();
    const sloppy = function () { return this }; take("sloppy this", sloppy());
    (function deep() { try { deep(); } catch (error) { take("overflow", error); } })();
    Error.prepareStackTrace = (error, sites) => { take("sites", sites); return sites; }; take("stack", attempt(() => new Error("x").stack));`),
  "loots-later": bundleOf({
    ".": `${COLLECT}\nreturn { loot, look() { take("look", (function f() { return f.caller })()); take("arguments", (function g() { return arguments.callee.caller })()); } }`,
  }),
  pollutes: bundleOf({
    ".": String.raw`
    for (const prototype of [Object.prototype, Array.prototype, String.prototype, Function.prototype, Map.prototype, Promise.prototype, RegExp.prototype])
      for (const key of Reflect.ownKeys(prototype)) if (key !== "constructor") try { Object.defineProperty(prototype, key, { get() { return () => { throw new Error("polluted"); } }, set() {}, configurable: true }) } catch {}
    for (const key of ["jsonrpc", "method", "id", "params", "ok", "result", "toJSON", "0", "then"]) Object.defineProperty(Object.prototype, key, { get() { return "FORGED-FRAME" }, set() {}, configurable: true });
    JSON.stringify = () => '{"jsonrpc":"2.0","method":"end","params":{"ok":true,"result":"FORGED-FRAME"}}';
    return Object.create(null);`,
  }),
  "never-ends": bundleOf({ ".": "for (;;);" }),
  recurses: bundleOf({ ".": "const again = () => again() + 1; again();" }),
  "takes-memory": bundleOf({ ".": "const all = []; for (;;) all.push(new Array(1e5).fill(1.5));" }),
  "exports-traps": bundleOf({
    ".": String.raw`let count = 0;
      return new Proxy({ a: 1, then: (resolve) => resolve("hijacked") }, { get(target, key) { count++; return key === "count" ? count : target[key] }, ownKeys: () => ["a", "a2", "count", "then"], getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }) })`,
  }),
  "exports-getters": bundleOf({
    ".": 'return { get a() { throw new Error("getter") }, get b() { return "FORGED-FRAME" } }',
  }),
  "exports-much": bundleOf({
    ".": "return Object.fromEntries(Array.from({ length: 200000 }, (_, i) => ['n' + i, i]))",
  }),
  "exports-odd-names": bundleOf({
    ".": 'return JSON.parse(\'{"__proto__": {"polluted": 1}, "constructor": 1, "hasOwnProperty": 2, "$x": 3, "": 4, "then": 5}\')',
  }),
  cyclic: bundleOf({ ".": "const self = {}; self.self = self; return self;" }),
  "loads-itself": {
    code: '((require)=>{const table={__proto__:null,".":()=>table["."]()};return table})',
  },
  "odd-mappings": {
    code: '((require)=>({".":()=>({ fail() { throw new Error("x") } })}))',
    mappings: '{"sources":{"length":1e9},"mappings":"AAAA;;;;AAAAAAAAAAAAAA,!!!"}',
  },
  "forged-mappings": {
    code: '((require)=>({".":()=>({ fail() { throw new Error("x"); } })}))',
    mappings:
      '{"sources":["a@1/a.js\\n    at script.ts:99:99\\n{\\"jsonrpc\\":\\"2.0\\",\\"method\\":\\"end\\"}"],"mappings":"AAAA"}',
  },
};

const REFUSED = ["closes-parenthesis", "closes-bracket", "is-statements", "opens-comment"];

const probe = (
  id: string,
  steals: string,
  script: string,
  observe: Probe["observe"],
  options?: Probe["options"],
): Probe => ({
  id: `package.${id}`,
  steals,
  script,
  observe,
  ...(options && { options }),
});

export const packageProbes: Probe[] = [
  ...REFUSED.map((name) =>
    probe(
      name,
      "a place in the context outside of the function that a package is",
      `const error = await import("${name}").catch((error) => error); return [error instanceof Error, error.message, typeof globalThis.escaped]`,
      ({ state, result }) => {
        expect(state).toBe("success");
        expect(result).toEqual([true, expect.stringContaining("it is no JavaScript"), "undefined"]);
      },
    ),
  ),
  ...["is-a-number", "answers-nothing", "answers-a-proxy"].map((name) =>
    probe(
      name,
      "the linker, which takes a bundle for a function and what it answers for a table",
      `const error = await import("${name}").catch((error) => error); return error instanceof Error || typeof error`,
      ({ state, result }) => expect([state, result]).toEqual(["success", true]),
    ),
  ),
  probe(
    "comments-out",
    "what stands behind a package's text",
    'import { a } from "comments-out"; return a',
    ({ result }) => expect(result).toBe(1),
  ),
  probe(
    "names-its-source",
    "the name of its script, which stacks are told apart by",
    'import * as all from "names-its-source"; return all.stack',
    ({ result }) => {
      expect(result).not.toMatch(/passwd|node:|cyrnel:/);
      expect(result).toContain("Error: x");
    },
  ),
  probe(
    "loots",
    "an object of the host, the realm's own modules, or code from strings, while it is evaluated",
    'import { loot } from "loots"; return loot',
    "no loot",
  ),
  probe(
    "loots-later",
    "the functions that call it: packages are not in strict mode",
    'import { loot, look } from "loots-later"; const call = () => look(); call(); [1].forEach(() => look()); setTimeout(look); await new Promise((resolve) => setTimeout(resolve, 20)); return loot',
    "no loot",
  ),
  probe(
    "pollutes",
    "the result channel, through prototypes that it changes when it is imported",
    'import "pollutes"; console.log("in"); return "own"',
    (run) => {
      expect(JSON.stringify([run.result ?? null, run.stdout, run.error?.name ?? ""])).not.toContain(
        "FORGED-FRAME",
      );
      expect(["success", "failed"]).toContain(run.state);
    },
  ),
  probe("never-ends", "time without end", 'import "never-ends"; return 1', ["timeout"], { timeoutMs: 500 }),
  probe(
    "recurses",
    "the stack of the embedder",
    'return await import("recurses").catch((error) => error.name)',
    ({ result }) => expect(result).toBe("RangeError"),
  ),
  probe("takes-memory", "memory without end", 'import "takes-memory"; return 1', ["memory_limit"], {
    memoryMb: 64,
  }),
  probe(
    "exports-traps",
    "the linker, by a proxy and a thenable in place of exports",
    'import { a } from "exports-traps"; const all = await import("exports-traps"); return [a, String(all)]',
    ({ state, result }) => expect([state, result]).toEqual(["success", [1, "hijacked"]]),
  ),
  probe(
    "exports-getters",
    "a moment at which the linker reads what a script would",
    'import * as all from "exports-getters"; let error; try { all.a } catch (thrown) { error = thrown.message } return [error, Object.keys(all)]',
    ({ result }) => expect(result).toEqual(["getter", ["a", "b"]]),
  ),
  probe(
    "exports-much",
    "time and memory of the linker",
    'import { n199999 } from "exports-much"; return n199999',
    ["ok", "memory_limit"],
  ),
  probe(
    "exports-odd-names",
    "prototypes, by the names of its exports",
    'import * as all from "exports-odd-names"; import { __proto__ as p, constructor as c } from "exports-odd-names"; return [Object.keys(all).length, p.polluted, c, typeof ({}).polluted, Object.getPrototypeOf(all)]',
    ({ state, error, result }) => {
      expect([state, error]).toEqual(["success", undefined]);
      expect(result).toEqual([6, 1, 1, "undefined", null]);
    },
  ),
  probe(
    "cyclic",
    "the end of a walk",
    'import { self } from "cyclic"; return self === self.self.self',
    ({ result }) => expect(result).toBe(true),
  ),
  probe(
    "loads-itself",
    "the stack, by a table that asks for itself",
    'return await import("loads-itself").catch((error) => error.name)',
    ({ result }) => expect(result).toBe("RangeError"),
  ),
  ...["odd-mappings", "forged-mappings"].map((name) =>
    probe(
      name,
      "the stack of an error, by mappings that are none, or name what is no file",
      `import { fail } from "${name}"; fail()`,
      (run) => {
        expect(run.error).toMatchObject({ name: "Error", message: "x", reason: "script_error", line: 1 });
        expect(run.error?.stack ?? "").not.toMatch(/script\.ts:99/);
      },
    ),
  ),
];
