/** An environment that knows only the basic contract: it never says for which run it calls a tool. */
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { TEST_KEY } from "../harness/http-app.ts";
import { adapterEntries, type ModulesBench, openModulesBench, placeFiles, takeEvents } from "./bench.ts";
import { moduleEntries } from "./packs.ts";

/**
 * A script is lines of `call <mode>`, `gate <name>` and `linger <name>` (ends, and calls when the gate opens). `direct`
 * calls from where `execute` runs; `shared` from a loop that `setup` started, as a worker for all runs would.
 */
const CODE = `
  const gates = globalThis.originalGates;
  const gate = (name) => gates.get(name) ?? gates.set(name, Promise.withResolvers()).get(name);
  export function instantiate() {
    let bindings;
    const jobs = [];
    let wake = Promise.withResolvers();
    const invoke = () => bindings.invokeTool({ serviceId: "desk", toolId: "ask", parameters: {} });
    async function serve() {
      for (;;) {
        await wake.promise;
        wake = Promise.withResolvers();
        for (const job of jobs.splice(0)) invoke().then(job.resolve, job.reject);
      }
    }
    return {
      async setup(context) { bindings = context.bindings; void serve(); },
      async teardown() {},
      async execute({ eid, code }) {
        bindings.setState(eid, "running");
        for (const line of code.split("\\n")) {
          const [command, word] = line.split(" ");
          if (command === "gate") { await gate(word).promise; continue; }
          if (command === "linger") {
            void gate(word).promise.then(invoke).catch((error) => (globalThis.lateAnswer = error.code));
            continue;
          }
          const job = Promise.withResolvers();
          if (word === "shared") { jobs.push(job); wake.resolve(); } else invoke().then(job.resolve, job.reject);
          const answer = await job.promise.catch(({ code, message }) => ({ code, message }));
          bindings.emitOutput(eid, answer);
        }
        return "success";
      },
      async kill() {},
      async generateDocs() { return "# Original"; },
      async generateToolDocs() { return "# Tool"; },
    };
  }
`;
const TELL_RUN = "adapter.invoke = async ({ eid }) => ({ eid });";

let bench: ModulesBench;
beforeEach(async () => {
  takeEvents();
  bench = await openModulesBench({
    environment: { CYRNEL_API_KEY: TEST_KEY, CYRNEL_ISOLATION: "development" },
    async prepare(directory) {
      await placeFiles(
        path.join(directory, "original"),
        moduleEntries({ id: "original", type: "environment" }, CODE),
      );
      await placeFiles(path.join(directory, "desks"), adapterEntries("desks", "v1", { body: TELL_RUN }));
    },
  });
  for (const id of ["desks", "original"]) expect((await bench.enable(id)).status).toBe(200);
  const { server } = bench;
  expect((await server.post("/services", { id: "desk", adapter: "desks", content: "x" })).status).toBe(201);
  expect((await server.post("/services/desk/enabled", { enabled: true })).status).toBe(200);
});
afterEach(() => bench?.[Symbol.asyncDispose]());

const gates = new Map<string, PromiseWithResolvers<void>>();
Object.assign(globalThis, { originalGates: gates });
const openGate = (name: string) => {
  const gate = gates.get(name) ?? Promise.withResolvers<void>();
  gates.set(name, gate);
  gate.resolve();
};
async function start(code: string, headers?: Record<string, string>): Promise<number> {
  const answer = await bench.server.post("/processes", { code }, headers);
  expect(answer.status, answer.text).toBe(201);
  return answer.body.id;
}
const end = async (id: number) => {
  const { body } = await bench.server.get(`/processes/${id}?wait=10000`);
  expect([body.state, body.exitState, body.error]).toEqual(["idle", "success", null]);
  return body.output;
};
const untilRunning = async (id: number) => {
  for (;;) {
    const { body } = await bench.server.get(`/processes/${id}`);
    if (body.state === "running") return;
    expect(body.state).toBe("queued");
  }
};
const makeKey = async () => {
  const { body } = await bench.server.post("/keys", { name: "another", scopes: ["processes:write"] });
  return { authorization: `Bearer ${body.key}` };
};

test("the only run under way makes the call, from wherever the module calls", async () => {
  for (const mode of ["direct", "shared"]) {
    const id = await start(`call ${mode}`);
    expect(await end(id), mode).toEqual({ eid: id });
    const { body } = await bench.server.get(`/processes/${id}/calls`);
    expect(body.calls).toMatchObject([{ serviceId: "desk", toolId: "ask", status: "ok" }]);
  }
});

test("of several runs of one key, the one that `execute` was called for makes the call", async () => {
  const other = await start("gate several\ncall direct");
  await untilRunning(other);
  const id = await start("call direct");
  expect(await end(id)).toEqual({ eid: id });
  openGate("several");
  expect(await end(other)).toEqual({ eid: other });
});

test("where it cannot be known for which of several runs, the call is refused with what to do", async () => {
  const other = await start("gate unknown");
  await untilRunning(other);
  const refusal = { code: "eid_missing", message: expect.stringContaining("invokeTool({ eid,") };
  expect(await end(await start("call shared"))).toEqual(refusal);
  openGate("unknown");
  await end(other);
});

test("runs of different keys are never taken for each other", async () => {
  const other = await start("gate keys", await makeKey());
  await untilRunning(other);
  for (const mode of ["direct", "shared"]) {
    expect(await end(await start(`call ${mode}`)), mode).toMatchObject({ code: "eid_missing" });
  }
  openGate("keys");
  await end(other);
});

test("what a run left behind does not call as the run of another key", async () => {
  await end(await start("linger late", await makeKey()));
  const other = await start("gate other");
  await untilRunning(other);
  openGate("late");
  const holder = globalThis as { lateAnswer?: string };
  while (holder.lateAnswer === undefined) await new Promise((resolve) => setImmediate(resolve));
  expect(holder.lateAnswer).toBe("eid_missing");
  openGate("other");
  await end(other);
});
