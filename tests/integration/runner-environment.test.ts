import { existsSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createProcessEnvironment } from "#modules/typescript-process/environment.ts";
import { instantiate, manifest } from "#modules/typescript-process/index.ts";
import { type EnvironmentBindings, type EnvironmentModule, moduleManifestSchema } from "#sdk";
import { inParts } from "#tests/contract/in-parts.ts";
import { listChildren } from "./runner/harness.ts";

type Event = [name: string, eid: number, value?: unknown];

interface Opened {
  environment: EnvironmentModule;
  events: Event[];
  warnings: string[];
  of(name: string, eid?: number): unknown[];
}

const opened: EnvironmentModule[] = [];
const directories = () =>
  readdirSync(tmpdir()).filter((name) => new RegExp(`^cyrnel-run-\\d+-${process.pid}-`).test(name));

async function open(
  config: object = {},
  bindings: Partial<EnvironmentBindings> = {},
  make: () => EnvironmentModule = instantiate,
): Promise<Opened> {
  const events: Event[] = [];
  const warnings: string[] = [];
  const note = (name: string) => (eid: number, value?: unknown) =>
    void events.push([name, eid, Buffer.isBuffer(value) ? value.toString() : value]);
  const answer = async () => [];
  const environment = inParts(make());
  opened.push(environment);
  await environment.setup({
    config: { warmPool: { min: 1, max: 2 }, ...config },
    secrets: {},
    fetch: globalThis.fetch,
    logger: { debug() {}, info() {}, warn: (_, message) => void warnings.push(message ?? ""), error() {} },
    bindings: {
      invokeTool: async ({ parameters }) => parameters,
      setState: note("state"),
      setError: note("error"),
      emitStdout: note("stdout"),
      emitStderr: note("stderr"),
      emitOutput: note("output"),
      setResult: note("result"),
      setUsage: note("usage"),
      discoverServices: answer,
      discoverTools: answer,
      getService: async (id) => ({ id, name: id, description: "", tools: [] }),
      getTool: async ({ serviceId, toolId }) => ({
        serviceId,
        id: toolId,
        name: toolId,
        description: "",
        inputSchema: {},
        outputSchema: {},
      }),
      getToolDocs: async () => "",
      ask: async () => null,
      ...bindings,
    },
  });
  return {
    environment,
    events,
    warnings,
    of: (name, eid) =>
      events.filter(([n, e]) => n === name && (eid === undefined || e === eid)).map(([, , v]) => v),
  };
}

afterEach(async () => {
  for (const environment of opened.splice(0)) await environment.teardown();
  expect(listChildren()).toEqual([]);
  expect(directories()).toEqual([]);
});

const run = (environment: EnvironmentModule, eid: number, code: string, options = {}) =>
  environment.execute({ eid, code, options: { timeoutMs: 20_000, ...options } });

describe("the process environment", () => {
  test("its manifest is one, and its settings are a JSON Schema with defaults", () => {
    expect(moduleManifestSchema.parse(manifest)).toEqual(manifest);
    expect(manifest.configSchema).toMatchObject({
      type: "object",
      additionalProperties: false,
      properties: {
        memoryMb: { default: 128 },
        maxCalls: { default: 10_000 },
        queueTtlMs: { default: null },
      },
    });
  });

  test("reports states, output, result and cost of an execution in their order", async () => {
    const { environment, events, of } = await open();
    const code = `
      console.log("out"); console.error("err"); cyrnel.output({ a: 1 });
      const answer: { x: number } = await tools.svc.act({ x: 2 });
      return answer.x + cyrnel.process.id;`;
    expect(await run(environment, 40, code)).toBe("success");
    expect(events.map(([name]) => name)).toEqual(["state", "stdout", "stderr", "output", "usage", "result"]);
    expect(of("result")).toEqual([42]);
    expect(of("usage")).toEqual([
      {
        queuedMs: expect.any(Number),
        startMs: expect.any(Number),
        wallMs: expect.any(Number),
        cpuMs: expect.any(Number),
        peakMemoryBytes: expect.any(Number),
        toolCalls: 1,
      },
    ]);
  });

  test("an error has the submitted place and its reason", async () => {
    const { environment, of } = await open();
    expect(await run(environment, 1, "const a: number = 1;\nthrow new TypeError('no ' + a);")).toBe("failed");
    expect(of("error")).toMatchObject([
      { name: "TypeError", message: "no 1", line: 2, reason: "script_error" },
    ]);
    expect(await run(environment, 2, "const = 1;")).toBe("failed");
    expect(of("error", 2)).toMatchObject([{ name: "SyntaxError", line: 1, reason: "syntax_error" }]);
    expect(of("state", 2)).toEqual([]);
  });

  test("runs as many at once as it may, and the others in order behind them", async () => {
    const { environment, events, of } = await open({ maxConcurrency: 2 });
    const runs = [1, 2, 3, 4].map((eid) =>
      run(environment, eid, "await new Promise(r => setTimeout(r, 200));"),
    );
    await vi.waitFor(
      () => expect(of("state").filter((state) => state === "running")).toHaveLength(2),
      10_000,
    );
    expect(environment.status?.()).toMatchObject({ slots: 2, busy: 2 });
    expect(await Promise.all(runs)).toEqual(["success", "success", "success", "success"]);
    expect(events.filter(([, , state]) => state === "queued").map(([, eid]) => eid)).toEqual([3, 4]);
    expect(environment.status?.()).toMatchObject({ busy: 0 });
  });

  test("what waits longer than it may is canceled with that reason", async () => {
    const { environment, of } = await open({ maxConcurrency: 1, queueTtlMs: 200 });
    const long = run(environment, 1, "for(;;);", { timeoutMs: 1500 });
    await vi.waitFor(() => expect(of("state", 1)).toEqual(["running"]), 10_000);
    expect(await run(environment, 2, "return 1")).toBe("canceled");
    expect(of("error", 2)).toMatchObject([{ reason: "queue_timeout" }]);
    expect(await long).toBe("timeout");
    expect(await run(environment, 3, "return 1")).toBe("success");
  });

  test("a kill is prompt in every phase, and silent for what is not there", async () => {
    const { environment, of } = await open({ maxConcurrency: 1, warmPool: { min: 0, max: 0 } });
    await environment.kill(999);
    const running = run(environment, 1, "for(;;);");
    const queued = run(environment, 2, "return 1");
    await vi.waitFor(() => expect(of("state", 2)).toEqual(["queued"]), 10_000);
    await environment.kill(2);
    expect(await queued).toBe("canceled");
    await environment.kill(1);
    await environment.kill(1);
    expect(await running).toBe("canceled");
    const starting = run(environment, 3, "return 1");
    await delay(8);
    await environment.kill(3);
    expect(["canceled", "success"]).toContain(await starting);
    expect(of("error", 1)).toMatchObject([{ reason: "killed" }]);
    expect(of("error", 2)).toMatchObject([{ reason: "killed" }]);
    expect(environment.status?.()).toMatchObject({ busy: 0 });
  });

  test("an execution may ask for more memory, up to the limit of the configuration", async () => {
    const { environment, of } = await open({ memoryMb: 64, maxMemoryMb: 256 });
    const fill = (mb: number) =>
      `const kept: number[][] = []; for (let i = 0; i < ${mb}; i++) kept.push(new Array(131072).fill(i + 0.5)); return kept.length;`;
    expect(await run(environment, 1, fill(150))).toBe("failed");
    expect(of("error", 1)).toMatchObject([
      { reason: "memory_limit", message: expect.stringContaining("64 MB") },
    ]);
    expect(await run(environment, 2, fill(150), { memoryMb: 256 })).toBe("success");
    expect(await run(environment, 3, fill(400), { memoryMb: 4000 })).toBe("failed");
    expect(of("error", 3)).toMatchObject([
      { reason: "memory_limit", message: expect.stringContaining("256 MB") },
    ]);
  });

  test("a warm child that was killed from outside costs nobody a run", async () => {
    const { environment, of } = await open({ warmPool: { min: 2, max: 2 } });
    await vi.waitFor(() => expect(environment.status?.().warm).toBe(2), 10_000);
    for (let eid = 1; eid <= 3; eid++) {
      for (const pid of listChildren()) process.kill(pid, "SIGKILL");
      expect(await run(environment, eid, "return 5")).toBe("success");
      expect(of("result", eid)).toEqual([5]);
    }
  });

  test("what the host throws reaches the script as name, message, code and status only", async () => {
    const { environment, of } = await open(
      {},
      {
        invokeTool: async () => {
          throw Object.assign(new RangeError("too far", { cause: "hidden" }), {
            code: "out_of_range",
            status: 416,
          });
        },
      },
    );
    const code =
      'try { await tools.a.b({}); } catch (e) { return [e instanceof Error, e.name, e.message, e.code, e.status, Object.keys(e).sort(), String(e.stack).includes("runner")]; }';
    expect(await run(environment, 1, code)).toBe("success");
    expect(of("result")).toEqual([
      [true, "RangeError", "too far", "out_of_range", 416, expect.any(Array), false],
    ]);
  });

  test("a host that cannot take in output does not take the environment down", async () => {
    const { environment, of, warnings } = await open(
      {},
      {
        emitStdout: () => {
          throw new Error("disk full");
        },
      },
    );
    expect(await run(environment, 1, "console.log(1)")).toBe("failed");
    expect(of("error")).toMatchObject([
      { reason: "crashed", message: expect.not.stringContaining("disk full") },
    ]);
    expect(warnings).toHaveLength(1);
    expect(await run(environment, 2, "return 1")).toBe("success");
  });

  test("eval and WebAssembly are there only if its configuration allows them", async () => {
    const code =
      'let e; try { e = (0, eval)("1+1"); } catch (x) { e = x.name; } return [e, typeof WebAssembly, typeof Function.prototype.constructor];';
    const { environment, of } = await open();
    await run(environment, 1, code);
    expect(of("result")).toEqual([[expect.stringMatching(/Error/), "undefined", "function"]]);
    const allowed = await open({ allowEval: true, allowWasm: true });
    await run(allowed.environment, 1, code);
    expect(allowed.of("result")).toEqual([[2, "object", "function"]]);
    const wasm =
      "const { instance } = await WebAssembly.instantiate(new Uint8Array([0,97,115,109,1,0,0,0,1,5,1,96,0,1,127,3,2,1,0,7,5,1,1,102,0,0,10,6,1,4,0,65,42,11])); return instance.exports.f();";
    expect(await run(allowed.environment, 2, wasm)).toBe("success");
    expect(allowed.of("result", 2)).toEqual([42]);
  });

  test("a run never sees what an earlier one left", async () => {
    const { environment, of } = await open();
    await run(environment, 1, "globalThis.left = 1; Array.prototype.left = 1; return 1");
    await run(environment, 2, "return [typeof globalThis.left, typeof [].left]");
    expect(of("result", 2)).toEqual([["undefined", "undefined"]]);
  });

  test("status and documents say what is in force", async () => {
    const { environment } = await open({ memoryMb: 96, maxMemoryMb: 100 });
    const status = environment.status?.();
    expect(status).toMatchObject({ warm: 1, limits: { memoryMb: 96, maxMemoryMb: 100 } });
    const obtained = status?.isolation.layers.filter((layer) => layer.obtained).map(({ layer }) => layer);
    // Control groups (5) are there only where they can be written to.
    expect(obtained?.filter((layer) => layer !== 5)).toEqual([0, 1, 2, 3, 4, 6, 7]);
    expect(await environment.generateDocs()).toContain("96 MB");
    const tool = { serviceId: "svc", toolId: "act", description: "Acts.", inputSchema: {}, outputSchema: {} };
    expect(await environment.generateToolDocs(tool)).toContain("tools.svc.act(");
  });

  test("teardown ends what runs and waits, and everything it had made", async () => {
    const { environment, of } = await open({ maxConcurrency: 1 });
    const runs = [1, 2].map((eid) => run(environment, eid, "for(;;);"));
    await vi.waitFor(() => expect(of("state", 1)).toEqual(["running"]), 10_000);
    expect(directories()).toHaveLength(1);
    await environment.teardown();
    expect(await Promise.all(runs)).toEqual(["canceled", "canceled"]);
    expect(listChildren()).toEqual([]);
    expect(directories()).toEqual([]);
    await environment.teardown();
    await expect(run(environment, 3, "return 1")).rejects.toThrow("not set up");
  });

  test("a setup that fails leaves nothing behind", async () => {
    await expect(open({ memoryMb: 512, maxMemoryMb: 256 })).rejects.toThrow("maxMemoryMb");
    await expect(open({ unknown: 1 })).rejects.toThrow();
    await expect(open({ maxConcurrency: 0 })).rejects.toThrow();
    await expect(open({}, {}, () => createProcessEnvironment("/nowhere"))).rejects.toThrow(
      "/nowhere/child.js is missing: run `npm run build`.",
    );
    expect(listChildren()).toEqual([]);
    expect(existsSync(tmpdir())).toBe(true);
  });
});
