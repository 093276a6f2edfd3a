/** The real environment module with bindings that write down what they are told. */

import { readdirSync, readFileSync } from "node:fs";
import { instantiate } from "#modules/typescript-ivm/index.ts";
import type { EnvironmentBindings, EnvironmentModule, ErrorDetail, ExecutionOptions, Usage } from "#sdk";
import { inParts } from "#tests/contract/in-parts.ts";

export interface Recorded {
  state: string;
  states: string[];
  stdout: string;
  stderr: string;
  output: Record<string, unknown>;
  result?: unknown;
  error?: ErrorDetail;
  usage: Partial<Usage>;
}

export interface IvmHarness extends AsyncDisposable {
  env: EnvironmentModule;
  records: Map<number, Recorded>;
  warnings: string[];
  /** Executes under the next free id. */
  run(code: string, options?: ExecutionOptions): Promise<Recorded>;
  /** The same, without waiting. */
  start(code: string, options?: ExecutionOptions): { eid: number; over: Promise<Recorded> };
}

export type InvokeTool = EnvironmentBindings["invokeTool"];

export async function openIvm(
  config: Record<string, unknown> = {},
  invokeTool: InvokeTool = async ({ parameters }) => parameters,
): Promise<IvmHarness> {
  const env = inParts(instantiate());
  const records = new Map<number, Recorded>();
  const warnings: string[] = [];
  let lastEid = 0;
  const record = (eid: number): Recorded => {
    const known = records.get(eid);
    if (known !== undefined) return known;
    const made: Recorded = { state: "", states: [], stdout: "", stderr: "", output: {}, usage: {} };
    records.set(eid, made);
    return made;
  };
  const refuse = async () => {
    throw new Error("not needed here");
  };
  const bindings: EnvironmentBindings = {
    invokeTool,
    setState: (eid, state) => void record(eid).states.push(state),
    setError: (eid, error) => {
      record(eid).error = typeof error === "string" ? { name: "Error", message: error } : error;
    },
    emitStdout: (eid, data) => {
      record(eid).stdout += data.toString();
    },
    emitStderr: (eid, data) => {
      record(eid).stderr += data.toString();
    },
    emitOutput: (eid, data) => void Object.assign(record(eid).output, data),
    discoverServices: async () => [],
    discoverTools: async () => [],
    getService: refuse,
    getTool: refuse,
    getToolDocs: refuse,
    ask: refuse,
    setResult: (eid, value) => {
      record(eid).result = value;
    },
    setUsage: (eid, usage) => void Object.assign(record(eid).usage, usage),
  };
  const warn = (_: object, message?: string) => void warnings.push(message ?? "");
  await env.setup({
    config,
    secrets: {},
    fetch: globalThis.fetch,
    bindings,
    logger: { debug: () => {}, info: () => {}, warn, error: warn },
  });
  const start = (code: string, options: ExecutionOptions = { timeoutMs: 20_000 }) => {
    const eid = ++lastEid;
    const over = env.execute({ eid, code, options }).then((state) => Object.assign(record(eid), { state }));
    return { eid, over };
  };
  return {
    env,
    records,
    warnings,
    start,
    run: (code, options) => start(code, options).over,
    [Symbol.asyncDispose]: () => env.teardown(),
  };
}

/** Pids of the slot processes this process has started and that are still there. */
export function listSlotPids(): number[] {
  const pids: number[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const parent = /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${name}/status`, "latin1"))?.[1];
      const command = readFileSync(`/proc/${name}/cmdline`, "latin1");
      if (Number(parent) === process.pid && command.includes("slot.js")) pids.push(Number(name));
    } catch {
      // Gone meanwhile.
    }
  }
  return pids;
}

/** Waits until `isTrue`, looking every 5 ms. */
export async function until(isTrue: () => boolean, maxMs = 10_000): Promise<void> {
  for (const start = Date.now(); !isTrue(); ) {
    if (Date.now() - start > maxMs) throw new Error(`not true within ${maxMs} ms: ${isTrue}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
