/**
 * Every way in which the wall ends a run, as a client sees it: a state, a reason of its own, and a sentence that names the limit
 * and its value. Beside each a neighbour runs that must not notice.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BUILTIN_MODULES } from "#api/components/modules/builtins.ts";
import { createProcessEnvironment } from "#modules/typescript-process/environment.ts";
import { manifest as processManifest } from "#modules/typescript-process/index.ts";
import { startServer, type TestServer } from "../integration/harness/server.ts";
import { buildHostRealmChild } from "./host-realm/build.ts";

interface Ending {
  code: string;
  options?: Record<string, number>;
  exitState: "failed" | "timeout";
  reason: string;
  /** What the sentence must say. */
  error: RegExp;
}

/** A bound only: however busy the machine is, a run meets its own limit first. */
const MAX_RUN_MS = 90_000;
const MAX_TEST_MS = 120_000;
const GROW = "const held = []; for (;;) held.push";
const LIMITS: Record<string, Ending> = {
  "CPU time": {
    code: "for (;;);",
    options: { cpuMs: 300 },
    exitState: "failed",
    reason: "cpu_limit",
    error: /more CPU time than its limit of 300 ms/,
  },
  "memory in the heap": {
    code: `${GROW}(new Array(10_000).fill({}));`,
    options: { memoryMb: 48 },
    exitState: "failed",
    reason: "memory_limit",
    error: /more memory than its limit of 48 MB/,
  },
  "memory in buffers": {
    code: `${GROW}(new Uint8Array(4 << 20).fill(1));`,
    options: { memoryMb: 48 },
    exitState: "failed",
    reason: "memory_limit",
    error: /more memory than its limit of 48 MB/,
  },
  "running time": {
    code: "for (;;);",
    options: { timeout: 300 },
    exitState: "timeout",
    reason: "timeout",
    error: /longer than its limit of 300 ms/,
  },
  "the size of a result": {
    code: "return 'x'.repeat(5 << 20);",
    exitState: "failed",
    reason: "output_limit",
    error: /at most 4194304 are kept/,
  },
  "the size of all output": {
    code: "for (let n = 0; n < 50; n++) cyrnel.output({ ['k' + n]: 'x'.repeat(100 << 10) });",
    exitState: "failed",
    reason: "output_limit",
    error: /at most 4194304 are kept/,
  },
  "all that a run may send": {
    code: "for (let n = 0; n < 200; n++) await tools.no.such({ x: 'x'.repeat(900_000) }).catch(() => {});",
    exitState: "failed",
    reason: "output_limit",
    error: /67108864 bytes/,
  },
};

/** Only code that has taken over its engine gets there: a child without layer 0. */
const VIOLATIONS: Record<string, Ending> = {
  "a system call that kills": {
    code: "host.syscall(host.process.arch === 'arm64' ? 221 : 59, 0, 0, 0); return 1;",
    exitState: "failed",
    reason: "sandbox_violation",
    error: /sandbox was left or broken: a system call that is not allowed/,
  },
  "a message that is not of the protocol": {
    code: "host.builtin('fs').writeSync(1, host.Buffer.from([0, 0, 0, 2, 0x7b, 0x7d])); for (;;);",
    exitState: "failed",
    reason: "sandbox_violation",
    error: /sandbox was left or broken: a message does not fit the protocol/,
  },
  // Has the kernel read a page in each 2 MB of a mapping that can only be read: all it takes is the tables that lead there.
  "page tables": {
    code: `const [mmap, sigprocmask] = host.process.arch === "arm64" ? [222, 135] : [9, 14];
      const start = host.syscall(mmap, 0, 2 ** 38, 1, 0x4022, -1, 0);
      for (let at = 0; at < 2 ** 38; at += 2 ** 21) host.syscall(sigprocmask, 0, start + at, 0, 8);
      for (;;);`,
    exitState: "failed",
    reason: "memory_limit",
    error: /more memory than its limit of 128 MB/,
  },
  "an end of its own making": {
    code: "host.process.abort();",
    exitState: "failed",
    reason: "crashed",
    error: /process of the run ended unexpectedly, with signal SIGABRT/,
  },
};

const NEIGHBOUR =
  "await new Promise((resolve) => setTimeout(resolve, 400)); console.log('beside'); return 'unharmed';";
/** In a child without layer 0, where there is no timer of the realm. */
const HOST_NEIGHBOUR = "return 'unharmed';";

async function expectEnding(
  server: TestServer,
  ending: Ending,
  neighbour = NEIGHBOUR,
): Promise<Record<string, unknown>> {
  const { code, options = {}, exitState, reason, error } = ending;
  const [ended, beside] = await Promise.all([
    server.post("/processes", { code, block: true, options: { timeout: MAX_RUN_MS, ...options } }),
    server.post("/processes", { code: neighbour, block: true }),
  ]);
  expect(ended.body).toMatchObject({ exitState, reason, error: expect.stringMatching(error) });
  expect(beside.body).toMatchObject({ exitState: "success", result: "unharmed" });
  expect((await server.get("/health")).status).toBe(200);
  return ended.body;
}

describe.runIf(process.platform === "linux").each(["typescript-process", "typescript-ivm"])("on %s", (id) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer();
    expect((await server.post(`/modules/${id}/enabled`, { enabled: true })).status).toBe(200);
  });
  afterAll(() => server.close());

  test.each(Object.entries(LIMITS))(
    "a run past its limit of %s",
    async (_, ending) => {
      expect(await expectEnding(server, ending)).toMatchObject({ environment: id });
    },
    MAX_TEST_MS,
  );
});

describe.runIf(process.platform === "linux")("a run that has taken over its process", () => {
  const open = new AsyncDisposableStack();
  let server: TestServer;
  beforeAll(async () => {
    const { folder } = open.use(await buildHostRealmChild());
    const others = BUILTIN_MODULES.filter(({ type }) => type === "adapter");
    const load = async () => ({
      manifest: processManifest,
      instantiate: () => createProcessEnvironment(folder),
    });
    server = await startServer({
      builtins: [...others, { id: "typescript-process", type: "environment", load }],
    });
    open.defer(() => server.close());
  });
  afterAll(() => open.disposeAsync());

  test.each(Object.entries(VIOLATIONS))("ends by %s", async (_, ending) => {
    const { id } = await expectEnding(server, ending, HOST_NEIGHBOUR);
    const line = server.logs().find(({ eid, processId }) => eid === id || processId === id);
    expect(JSON.stringify(line ?? {})).toContain(ending.reason);
    if (ending.reason === "sandbox_violation") expect(line).toMatchObject({ securityEvent: true });
  });
});
