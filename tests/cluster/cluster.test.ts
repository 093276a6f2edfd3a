/**
 * The chart in a real cluster, under the restricted standard, with two replicas and a Postgres: what an operator does to it under
 * twenty requests a second of a client that never tries again.
 */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Installation, install, SELECTOR } from "./installation.ts";
import type { LoadReport } from "./load.ts";

const BEFORE_MS = 5000;
const AFTER_MS = 10_000;

let installation: Installation;
beforeAll(async () => {
  installation = await install();
});
afterAll(() => installation?.[Symbol.asyncDispose]());

/** One request from a pod of the namespace; its answer as JSON. */
async function ask(method: string, url: string, json?: object) {
  const program = `
    const answer = await fetch(${JSON.stringify(url)}.replace("SERVICE", process.env.CYRNEL_URL ?? ""), {
      method: ${JSON.stringify(method)},
      headers: { authorization: "Bearer " + process.env.CYRNEL_API_KEY, "content-type": "application/json" },
      ${json === undefined ? "" : `body: ${JSON.stringify(JSON.stringify(json))},`}
    });
    console.log(JSON.stringify({ status: answer.status, body: await answer.json() }));`;
  return JSON.parse(await installation.inClient(program));
}

/** Does something to the pods under load; no request may fail, and no run be lost. */
async function underLoad(what: string, work: () => Promise<unknown>): Promise<void> {
  const program = await readFile(path.join(import.meta.dirname, "load.ts"), "utf8");
  const loading = installation.inClient(program);
  try {
    await sleep(BEFORE_MS);
    await work();
    await installation.settled();
    await sleep(AFTER_MS);
  } finally {
    await installation.kubectl(["exec", "client", "--", "touch", "/tmp/stop"]);
  }
  const report: LoadReport = JSON.parse(await loading);
  const { requests, runs, failures, lost, p50, p95, max } = report;
  console.info(
    `${what}: ${requests} requests, ${failures.length} failed, ${lost.length} of ${runs} runs lost; ` +
      `answered in ${p50} ms (p50), ${p95} ms (p95), ${max} ms at most`,
  );
  expect({ failures, lost }).toEqual({ failures: [], lost: [] });
  expect(requests).toBeGreaterThan(100);
}

const names = async () => (await installation.pods()).map(({ name }) => name).sort();

test("a script runs through the Service", async () => {
  const submitted = { code: "return 6 * 7", block: true };
  expect(await ask("POST", "SERVICE/processes", submitted)).toMatchObject({
    status: 201,
    body: { exitState: "success", result: 42 },
  });
});

test("both replicas are there, each with the isolation that its level needs", async () => {
  const { body } = await ask("GET", "SERVICE/replicas");
  expect(body.replicas).toHaveLength(2);
  for (const { state, address } of body.replicas) {
    expect(state).toBe("up");
    const { isolation } = (await ask("GET", `${address}/environment`)).body;
    expect(isolation.level).toBe("strict");
    const missing = isolation.layers.filter(
      (layer: { required: boolean; obtained: boolean }) => layer.required && !layer.obtained,
    );
    expect(missing).toEqual([]);
  }
});

test("an upgrade of a value renews the pods, and costs no request", async () => {
  const before = await names();
  await underLoad("helm upgrade", () => installation.deploy({ isolation: "standard" }));
  const after = await names();
  expect(after.filter((name) => before.includes(name))).toEqual([]);
});

test("a rolling restart costs no request", () =>
  underLoad("rollout restart", async () => {
    await installation.kubectl(["rollout", "restart", "deployment/cyrnel"]);
    await installation.kubectl(["rollout", "status", "deployment/cyrnel", "--timeout=10m"]);
  }));

test("a pod that is deleted costs no request", () =>
  underLoad("delete pod", async () => {
    const [name = ""] = await names();
    await installation.kubectl(["delete", "pod", name]);
  }));

test("a node is drained: runs finish in order, and what is queued runs when there are pods again", async () => {
  const [first] = await installation.pods();
  if (first === undefined) throw new Error("there is no pod");
  const isOnlyNode = (await installation.countNodes()) === 1;
  const drain = async () => {
    // On the only node no other pod can be there first: the budget would hold the drain up for ever.
    const eviction = isOnlyNode ? ["--disable-eviction"] : [];
    const flags = ["--pod-selector", SELECTOR, "--ignore-daemonsets", "--delete-emptydir-data"];
    try {
      await installation.kubectl(["drain", first.node, ...flags, "--timeout=5m", ...eviction]);
    } finally {
      await installation.kubectl(["uncordon", first.node]);
    }
  };
  if (!isOnlyNode) return underLoad("drain", drain);
  const code = `await new Promise((resolve) => setTimeout(resolve, 1000)); return "done";`;
  const program = `
    const headers = { authorization: "Bearer " + process.env.CYRNEL_API_KEY, "content-type": "application/json" };
    const body = ${JSON.stringify(JSON.stringify({ code }))};
    const ids = [];
    for (let count = 0; count < 100; count += 1)
      ids.push((await (await fetch(process.env.CYRNEL_URL + "/processes", { method: "POST", headers, body })).json()).id);
    console.log(JSON.stringify(ids));`;
  const ids: number[] = JSON.parse(await installation.inClient(program));
  await drain();
  await installation.settled();
  const { body } = await ask("GET", `SERVICE/processes/${ids.at(-1)}?wait=60000`);
  expect(body).toMatchObject({ exitState: "success", result: "done" });
  const failed = await ask("GET", "SERVICE/processes?status=failed");
  expect(failed.body.processes).toEqual([]);
  const waiting = await ask("GET", "SERVICE/processes?state=queued");
  expect(waiting.body.processes).toEqual([]);
});
