import { transform } from "esbuild";
import { expect, test } from "vitest";
import { type EnvironmentFacts, generateEnvironmentDocs } from "#runner/host/environment-docs.ts";

const FACTS: EnvironmentFacts = {
  id: "typescript-process",
  name: "TypeScript in a process of its own",
  isolation: "Each run has a locked-down Node process of its own.",
  limits: {
    memoryMb: 128,
    maxMemoryMb: 512,
    maxCalls: 10_000,
    maxConcurrentCalls: 32,
    maxMessageBytes: 1024 * 1024,
    slots: 4,
  },
  allowEval: false,
  allowWasm: false,
};

test("an agent finds everything a script may use, the limits in force, and what to use instead", () => {
  const docs = generateEnvironmentDocs({ ...FACTS, differences: ["Timers are exact to 1 ms."] });
  for (const text of [
    "# TypeScript in a process of its own (`typescript-process`)",
    "Each run has a locked-down Node process of its own.",
    "cyrnel.output(",
    "cyrnel.ask(",
    "cyrnel.getToolDocs(",
    "cyrnel.discoverServices(",
    "cyrnel.process",
    "tools.search(",
    "tools.describe.tool(",
    "structuredClone",
    "crypto.subtle.digest",
    "performance.now",
    "AbortController",
    "TextDecoder",
    "128 MB; `options.memoryMb` up to 512",
    "10000 in a run, 32 at the same time",
    "| 1 MiB |",
    "4 MiB",
    "| runs at once | 4",
    "fetch",
    "require",
    "`eval`, `new Function`",
    "`WebAssembly`",
    "Timers are exact to 1 ms.",
  ]) {
    expect(docs).toContain(text);
  }
});

test("what an environment allows is not listed as unavailable", () => {
  const docs = generateEnvironmentDocs({ ...FACTS, allowEval: true, allowWasm: true });
  expect(docs).not.toContain("| `eval`");
  expect(docs).not.toContain("| `WebAssembly`");
  expect(docs).toContain("`eval` and `new Function` are switched on here.");
});

test("the worked example is a script that runs and gives what it says", async () => {
  const docs = generateEnvironmentDocs(FACTS);
  const [, example = ""] = /## Example\n\n```ts\n([\s\S]*?)\n```/.exec(docs) ?? [];
  const { code } = await transform(`async function script() {\n${example}\n}`, { loader: "ts" });
  const printed: unknown[] = [];
  const outputs: unknown[] = [];
  const run = new Function("cyrnel", "console", `${code}\nreturn script();`) as (
    ...given: unknown[]
  ) => Promise<unknown>;
  const result = await run(
    { output: (value: unknown) => outputs.push(value) },
    { log: (text: unknown) => printed.push(text) },
  );
  expect(printed).toEqual(["averaged 3 readings"]);
  expect(outputs).toEqual([{ stations: 2 }]);
  expect(JSON.stringify(result)).toBe(/result: (\{.*\})/.exec(example)?.[1]);
});
