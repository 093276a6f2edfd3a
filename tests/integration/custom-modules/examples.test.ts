/** The modules of examples/modules, as an operator places them: on a real server, with real Python and a real receiver. */
import { spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { cp, readFile } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type ModulesBench, openModulesBench } from "./bench.ts";

const EXAMPLES = path.resolve(import.meta.dirname, "../../../examples/modules");
const hasPython = spawnSync("python3", ["--version"]).status === 0;

async function openWith(example: string, environment: Record<string, string> = {}): Promise<ModulesBench> {
  return openModulesBench({
    environment,
    prepare: (directory) =>
      cp(path.join(EXAMPLES, example), path.join(directory, example), { recursive: true }),
  });
}

describe("signed-webhooks", () => {
  const SIGNING_KEY = "correct-horse-battery-staple";
  let receiver: Server;
  let baseUrl: string;
  let seen: { path: string; headers: IncomingHttpHeaders; body: string }[] = [];
  let answer = (): { status: number; type: string; body: string } => ({
    status: 200,
    type: "application/json",
    body: '{"ok":true}',
  });
  let bench: ModulesBench | null = null;

  beforeAll(async () => {
    receiver = createServer(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      seen.push({ path: request.url ?? "", headers: request.headers, body });
      const { status, type, body: text } = answer();
      response
        .writeHead(status, { "content-type": type, ...(status === 302 && { location: "/elsewhere" }) })
        .end(text);
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => receiver.once("listening", resolve));
    baseUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hooks/`;
  });
  afterAll(() => {
    receiver.closeAllConnections();
    receiver.close();
  });
  afterEach(async () => {
    await bench?.[Symbol.asyncDispose]();
    bench = null;
    seen = [];
    answer = () => ({ status: 200, type: "application/json", body: '{"ok":true}' });
  });

  async function openService(environment?: Record<string, string>): Promise<ModulesBench> {
    bench = await openWith("signed-webhooks", environment);
    expect((await bench.enable("signed-webhooks")).body).toEqual({ id: "signed-webhooks", enabled: true });
    const content = await readFile(path.join(EXAMPLES, "signed-webhooks/deploy-hooks.json"), "utf8");
    const { server } = bench;
    expect(
      (await server.post("/services", { id: "hooks", adapter: "signed-webhooks", content })).status,
    ).toBe(201);
    const patch = (what: string, path: string, value: unknown) =>
      server.request("PATCH", `/services/hooks/${what}`, { json: [{ op: "add", path, value }] });
    expect((await patch("config", "/baseUrl", baseUrl)).status).toBe(200);
    expect((await patch("secrets", "/signingKey", SIGNING_KEY)).status).toBe(200);
    expect((await server.post("/services/hooks/enabled", { enabled: true })).status).toBe(200);
    return bench;
  }

  const invoke = (tool: string, parameters: object) =>
    (bench as ModulesBench).server.post(`/tools/hooks/${tool}/invoke`, { parameters });

  test("a call posts signed JSON with the defaults filled in; the answer comes back, the key does not", async () => {
    await openService();
    const called = await invoke("start_deploy", { version: "v42" });
    expect(called.text).toContain('"ok":true');
    const [request] = seen;
    expect(request).toMatchObject({ path: "/hooks/deploy/start", body: '{"version":"v42","dryRun":false}' });
    const [, seconds, signature] =
      /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(request?.headers["x-signature"])) ?? [];
    expect(Math.abs(Number(seconds) - Date.now() / 1000)).toBeLessThan(120);
    expect(createHmac("sha256", SIGNING_KEY).update(`${seconds}.${request?.body}`).digest("hex")).toBe(
      signature,
    );
    expect(called.text).not.toContain(SIGNING_KEY);
  });

  test("parameters that do not fit never reach the receiver", async () => {
    await openService();
    expect((await invoke("start_deploy", { version: "latest" })).status).toBeGreaterThanOrEqual(400);
    expect((await invoke("status", { extra: 1 })).status).toBeGreaterThanOrEqual(400);
    expect(seen).toEqual([]);
  });

  test("an error of the receiver is an answer; a redirect, a flood and a closed door are failures", async () => {
    await openService();
    answer = () => ({ status: 503, type: "text/plain", body: "later" });
    expect((await invoke("status", {})).text).toContain('"status":503');
    answer = () => ({ status: 302, type: "text/plain", body: "" });
    expect((await invoke("status", {})).status).toBeGreaterThanOrEqual(500);
    expect(seen.map((request) => request.path)).not.toContain("/elsewhere");
    answer = () => ({ status: 200, type: "text/plain", body: "x".repeat(300_000) });
    expect((await invoke("status", {})).status).toBeGreaterThanOrEqual(500);
  });

  test("an address that is not allowed is refused by the host, and no definition leads out of its baseUrl", async () => {
    const { server } = await openService({ CYRNEL_EGRESS_ALLOW: "" });
    expect((await invoke("status", {})).status).toBeGreaterThanOrEqual(500);
    expect(seen).toEqual([]);
    for (const hook of [
      { id: "a", path: "http://evil.example/" },
      { id: "a", path: "//evil.example/" },
      { id: "a", path: "../up" },
      { id: "a b", path: "x" },
      { id: "a", path: "x", payload: 7 },
    ]) {
      const content = JSON.stringify({ hooks: [hook] });
      const made = await server.post("/services", { id: "bad", adapter: "signed-webhooks", content });
      expect([made.status, made.body.code], content).toEqual([400, "invalid_definition"]);
    }
  });
});

describe.runIf(hasPython)("python-process", () => {
  let bench: ModulesBench;
  beforeAll(async () => {
    bench = await openWith("python-process", { CYRNEL_ISOLATION: "development" });
    expect((await bench.enable("python-process")).body).toEqual({ id: "python-process", enabled: true });
  });
  afterAll(() => bench?.[Symbol.asyncDispose]());

  async function run(code: string, options: object = {}) {
    const { body } = await bench.server.post("/processes", { code, block: true, options });
    return body;
  }

  test("a script prints, emits output and returns; the host measures what it cost", async () => {
    const body = await run(
      'import sys\nprint("héllo")\nprint("warn", file=sys.stderr)\ncyrnel.output({"a": 1})\ncyrnel.output({"b": [2]})\nreturn {"sum": sum(range(10)), "id": cyrnel.process["id"]}',
    );
    expect(body).toMatchObject({
      exitState: "success",
      reason: "ok",
      environment: "python-process",
      stdout: "héllo\n",
      stderr: "warn\n",
      output: { a: 1, b: [2] },
      result: { sum: 45, id: body.id },
      usage: { toolCalls: 0, peakMemoryBytes: expect.any(Number) },
    });
    expect(body.usage.wallMs).toBeGreaterThan(0);
    expect(await run("result = [1, 2]")).toMatchObject({ exitState: "success", result: [1, 2] });
    expect(await run("def f():\n    return 1\nclass A: pass")).toMatchObject({
      exitState: "success",
      result: null,
    });
    expect(await run("if True:\n    return 7")).toMatchObject({ result: 7 });
  });

  test.each<[string, string, object, object]>([
    [
      "an exception, with its line",
      "x = 1\nprint(x)\nraise ValueError('bad')",
      {},
      { reason: "script_error", errorDetail: { name: "ValueError", message: "bad", line: 3 } },
    ],
    [
      "a syntax error, with its line",
      "a = 1\nb = = 2",
      {},
      { reason: "syntax_error", errorDetail: { line: 2 } },
    ],
    ["an exit code", "import sys; sys.exit(3)", {}, { reason: "script_error" }],
    ["a result that is no JSON", "return object()", {}, { reason: "script_error" }],
    ["a result that is not a number", "return float('nan')", {}, { reason: "script_error" }],
    ["a crash", "import os; os.abort()", {}, { reason: "crashed" }],
    ["too much memory", "x = bytearray(10**9)", { memoryMb: 256 }, { reason: "memory_limit" }],
    ["too much CPU", "while True: pass", { cpuMs: 500, timeout: 30000 }, { reason: "cpu_limit" }],
    [
      "nonsense on the bridge",
      "import os; os.write(3, b'{}\\n')\nimport time; time.sleep(20)",
      {},
      { reason: "sandbox_violation" },
    ],
    [
      "a flood on the bridge",
      "import os\nfor _ in range(200): os.write(3, b'x' * 65536)\nimport time; time.sleep(20)",
      {},
      { reason: "output_limit" },
    ],
  ])("%s fails the run", async (_, code, options, expected) => {
    expect(await run(code, options)).toMatchObject({ exitState: "failed", ...expected });
  });

  test("a time-out ends the run and everything in its group; a process that hangs on to its output does not delay it", async () => {
    const code =
      'import subprocess, time\nchild = subprocess.Popen(["sleep", "60"])\nprint(child.pid, flush=True)\ntime.sleep(60)';
    const body = await run(code.replace('["sleep"', '["/bin/sleep"'), { timeout: 1500 });
    expect(body).toMatchObject({ exitState: "timeout", reason: "timeout" });
    const pid = Number(body.stdout);
    expect(pid).toBeGreaterThan(1);
    await expect.poll(() => isRunning(pid), { timeout: 10_000 }).toBe(false);
  });

  test("a kill is prompt, also for what ignores signals; queued runs are killed before they start", async () => {
    const code =
      "import signal, time\nfor s in (signal.SIGTERM, signal.SIGINT, signal.SIGXCPU): signal.signal(s, signal.SIG_IGN)\nprint('up', flush=True)\ntime.sleep(60)";
    const { body } = await bench.server.post("/processes", { code });
    const read = async () => (await bench.server.get(`/processes/${body.id}`)).body;
    await expect.poll(async () => (await read()).stdout, { timeout: 20_000 }).toContain("up");
    await bench.server.post(`/processes/${body.id}/signals/kill`);
    expect((await bench.server.get(`/processes/${body.id}?wait=20000`)).body).toMatchObject({
      exitState: "canceled",
      reason: "killed",
    });
  });

  test("runs beyond the limit wait, and all finish", async () => {
    const bodies = await Promise.all(
      Array.from({ length: 7 }, (_, n) => run(`import time; time.sleep(0.2)\nreturn ${n}`)),
    );
    expect(bodies.map((body) => body.result)).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  test("calls reach the host and come back as values or as errors; threads call side by side", async () => {
    const body = await run(
      `from concurrent.futures import ThreadPoolExecutor
failures = []
for path in ("nobody.nothing", "nobody.else"):
    service, tool = path.split(".")
    try:
        getattr(getattr(tools, service), tool)(x=1)
    except ToolError as error:
        failures.append([error.name, bool(str(error))])
with ThreadPoolExecutor(4) as pool:
    found = list(pool.map(lambda _: cyrnel.discover_services(), range(8)))
return {"failures": failures, "found": found}`,
    );
    expect(body).toMatchObject({ exitState: "success", usage: { toolCalls: 2 } });
    expect(body.result.found).toHaveLength(8);
    expect(body.result.failures).toEqual([
      [expect.any(String), true],
      [expect.any(String), true],
    ]);
  });

  test("a script cannot call in the name of another run, and sees nothing of the server's environment", async () => {
    const body = await run(
      `import os, json
os.write(3, (json.dumps({"type": "call", "id": 900, "method": "invokeTool", "params": {"serviceId": "a", "toolId": "b", "eid": 1}}) + "\\n").encode())
os.write(3, (json.dumps({"type": "call", "id": 901, "method": "setResult", "params": {}}) + "\\n").encode())
import time; time.sleep(20)`,
    );
    expect(body.reason).toBe("sandbox_violation");
    const environment = await run("import os; return sorted(os.environ)");
    expect(
      environment.result.filter(
        (name: string) => !["HOME", "LANG", "TMPDIR", "LC_CTYPE", "PWD"].includes(name),
      ),
    ).toEqual([]);
  });

  test("it says what it is: no layer round a run, and documents for whoever writes scripts", async () => {
    const { body } = await bench.server.get("/environment");
    expect(body.isolation.level).toBe("development");
    const obtained = body.isolation.layers.filter((layer: { obtained: boolean }) => layer.obtained);
    expect(obtained.map((layer: { layer: number }) => layer.layer)).toEqual([6]);
    const docs = await bench.server.get("/environment/docs");
    expect(docs.text).toContain("There is no sandbox");
    expect(docs.text).toContain("ToolError");
  });

  test("on a server that asks for walls it does not start, and the environment before stays", async () => {
    await using strict = await openWith("python-process", { CYRNEL_ISOLATION: "standard" });
    const refused = await strict.enable("python-process");
    expect([refused.status, refused.body.code]).toEqual([502, "module_failed"]);
    expect(refused.body.error).toContain("cannot give CYRNEL_ISOLATION=standard");
    expect((await strict.module("typescript-process")).state).toBe("active");
  });
});

test("an environment that says nothing, or less than is asked for, is refused by the host itself", async () => {
  const { placeFiles } = await import("./bench.ts");
  const { moduleEntries } = await import("./packs.ts");
  const code = (
    status: string,
  ) => `export const instantiate = () => ({ async setup() {}, async teardown() { globalThis.weakToldDown = true; },
    async execute() { return "success"; }, async kill() {}, async generateDocs() { return ""; }, async generateToolDocs() { return ""; } ${status} });`;
  await using bench = await openModulesBench({
    prepare: async (directory) => {
      const place = (id: string, status: string) =>
        placeFiles(path.join(directory, id), moduleEntries({ id, type: "environment" }, code(status)));
      await place("silent", "");
      await place("weak", ', status() { return { isolation: { level: "development" } }; }');
      await place("liar", ', status() { throw new Error("no"); }');
    },
  });
  for (const id of ["silent", "weak", "liar"]) {
    const refused = await bench.enable(id);
    expect([refused.status, refused.body.code], id).toEqual([502, "module_failed"]);
    expect(refused.body.error).toContain("this server asks for strict");
  }
  expect((globalThis as { weakToldDown?: boolean }).weakToldDown).toBe(true);
  expect((await bench.module("typescript-process")).state).toBe("active");
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
