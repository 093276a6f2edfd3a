/** Cases: packages in scripts. Bundled from texts, as the bundler makes them (tests/integration/packages-bundle.test.ts). */
import { expect } from "vitest";
import type { EnvironmentCase } from "../bench.ts";
import { bundleOf, type TestPackage } from "../packages.ts";

/** Those that the environments under test have. */
export const CASE_PACKAGES: Record<string, TestPackage> = {
  plain: {
    ...bundleOf({
      ".": "globalThis.evaluated = (globalThis.evaluated ?? 0) + 1; return { one: 1, double: (n) => n * 2, default: 'plain', [\"__proto__\"]: 5 }",
      "./sub": "return { default: { name: 'sub' } }",
    }),
    version: "2.1.0",
  },
  "@scope/named": bundleOf({
    ".": "let count = 0; return { get count() { return count }, add() { count++ } }",
  }),
  "with-nodes": bundleOf({
    ".": "const { join } = require('path'), events = require('events'); let missing; try { require('net') } catch (error) { missing = error.message } return { joined: join('a', 'b'), emitter: new events(), missing }",
  }),
  throwing: {
    ...bundleOf({
      ".": "return {\n  fail() {\n    throw new TypeError('inside');\n  } }",
      "./now": "throw new RangeError('at once')",
    }),
    version: "3.0.0",
    // Line 2 and 3 of the text are lines 7 and 8 of a file.
    mappings: '{"sources":["throwing@3.0.0/lib/fail.js"],"mappings":";AAMA;AACA"}',
  },
};

export const packageCases: EnvironmentCase[] = [
  {
    id: "packages.import",
    sentence: "a package is imported by name, by `npm:` and a version, by a path of it, and by a call",
    async check({ run }) {
      const { error, result } = await run(`import plain, { one, double as twice } from "plain";
import * as all from "npm:plain@2.1";
import sub from "plain/sub";
import { add } from "@scope/named";
import * as named from "@scope/named";
add();
const later = await import("plain");
return [plain, one, twice(4), all.one, Object.keys(all).sort(), sub.name, named.count, later.one, later === all, globalThis.evaluated]`);
      expect(error).toBeUndefined();
      expect(result).toEqual([
        "plain",
        1,
        8,
        1,
        ["__proto__", "default", "double", "one"],
        "sub",
        1,
        1,
        true,
        1,
      ]);
    },
  },
  {
    id: "packages.lazy",
    sentence: "a package that is only imported by a call is evaluated with the call",
    async check({ run }) {
      const { result } = await run(
        'const before = globalThis.evaluated; await import("plain"); return [before ?? 0, globalThis.evaluated]',
      );
      expect(result).toEqual([0, 1]);
    },
  },
  {
    id: "packages.files",
    sentence: "a file of the workspace imports packages and passes them on",
    async check({ run }) {
      const files = { "lib/x.ts": 'export * from "plain"; export { default as sub } from "plain/sub";' };
      const { error, result } = await run('import { one, sub } from "./lib/x.ts"; return [one, sub.name]', {
        files,
      });
      expect(error).toBeUndefined();
      expect(result).toEqual([1, "sub"]);
    },
  },
  {
    id: "packages.nodes",
    sentence: "a package has the modules of Node that a script has, and an error for others",
    async check({ run }) {
      const { error, result } = await run(
        'import { joined, emitter, missing } from "with-nodes"; import { EventEmitter } from "events"; return [joined, emitter instanceof EventEmitter, missing]',
      );
      expect(error).toBeUndefined();
      expect(result).toEqual(["a/b", true, expect.stringContaining("net")]);
    },
  },
  {
    id: "packages.wrong",
    sentence: "an import of a package that is not there, or of a name it does not export, says so",
    async check({ run }) {
      const unknown = await run('const a = 1;\nimport x from "plaim";');
      expect(unknown.error).toMatchObject({ reason: "syntax_error", line: 2, column: 1 });
      expect(unknown.error?.message).toMatch(/"plaim" is not installed; there are plain/);
      const version = await run('import x from "npm:plain@9";');
      expect(version.error?.message).toMatch(/"plain" is not installed/);
      const path = await run('import x from "plain/none";');
      expect(path.error?.message).toMatch(/plain@2\.1\.0 has no export "\.\/none".*"plain\/sub"/);
      const name = await run('const a = 1;\nimport { tow } from "plain"; return tow');
      expect(name.error).toMatchObject({ name: "SyntaxError", reason: "script_error", line: 2, column: 1 });
      expect(name.error?.message).toMatch(
        /^The package plain has no export named "tow"\. There are one, double/,
      );
      const file = await run('import { two } from "lib/two.ts"; return two', {
        files: { "lib/two.ts": "export const two = 2" },
      });
      expect(file.error?.message).toMatch(/To import the file lib\/two\.ts, write "\.\/lib\/two\.ts"/);
      const called = await run(
        'return [await import("plaim").catch((e) => e.message), await import("plain/none").catch((e) => e instanceof Error)]',
      );
      expect(called.result).toEqual([expect.stringMatching(/"plaim" is not installed/), true]);
    },
  },
  {
    id: "packages.errors",
    sentence:
      "an error inside a package shows the file of the package, and the line of the script that called it",
    async check({ run }) {
      const { error } = await run('import { fail } from "throwing";\n\nfail();');
      expect(error).toMatchObject({ name: "TypeError", message: "inside", line: 3, column: 1 });
      expect(error?.stack).toContain("throwing@3.0.0/lib/fail.js:8:");
      expect(error?.stack).not.toMatch(/cyrnel:|node:/);
      const twice = await run(
        'const one = await import("throwing/now").catch((e) => e); const two = await import("throwing/now").catch((e) => e); return [one.name, one === two]',
      );
      expect(twice.result).toEqual(["RangeError", true]);
    },
  },
];
