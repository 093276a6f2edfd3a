/** Where memory runs out, the kernel ends the process with the highest score: that must never be the server. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { bundlePackage } from "#runner/packages/bundle.ts";
import { startServer } from "./harness/server.ts";
import { until } from "./processes-server.ts";

const readScore = (pid: number | "self") => readFileSync(`/proc/${pid}/oom_score_adj`, "latin1").trim();

interface Child {
  name: string;
  command: string;
  score: string;
}

/** The children of this process, by pid. */
function readChildren(): Map<number, Child> {
  const children = new Map<number, Child>();
  for (const pid of readdirSync("/proc").map(Number).filter(Boolean)) {
    try {
      const status = readFileSync(`/proc/${pid}/status`, "latin1");
      if (Number(/^PPid:\s(\d+)/m.exec(status)?.[1]) !== process.pid) continue;
      const name = /^Name:\s(.*)/m.exec(status)?.[1] ?? "";
      const command = readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ");
      children.set(pid, { name, command, score: readScore(pid) });
    } catch {
      // It has ended.
    }
  }
  return children;
}

/** How every child that `work` started was when it was last seen. */
async function watchChildren(work: () => Promise<unknown>): Promise<Child[]> {
  const before = readChildren();
  const seen = new Map<number, Child>();
  let isOver = false;
  const done = work().finally(() => {
    isOver = true;
  });
  while (!isOver) {
    for (const [pid, child] of readChildren()) if (!before.has(pid)) seen.set(pid, child);
    await sleep(5);
  }
  await done;
  return [...seen.values()];
}

test.runIf(process.platform === "linux").each(["on", "off"])(
  "preparers, runs, zygotes (%s) and slots are ended before the server",
  async (zygote) => {
    const own = readScore("self");
    // Other tests of this process have children, too; preparers serve all of them.
    const others = readChildren();
    await using server = await startServer({ environment: { CYRNEL_ZYGOTE: zygote } });
    for (const environment of ["typescript-process", "typescript-ivm"]) {
      await server.post(`/modules/${environment}/enabled`, { enabled: true });
      const { id } = (await server.post("/processes", { code: "await new Promise(() => {});" })).body;
      const path = `/processes/${id}`;
      await until("it runs", async () => (await server.get(path)).body.state === "running");
      const children = [...readChildren()]
        .filter(([pid, { name }]) => !others.has(pid) || name === "cyrnel-preparer")
        .map(([, child]) => child);
      expect(children.map(({ name }) => name)).toContain("cyrnel-preparer");
      expect(children.filter(({ score }) => score !== "1000")).toEqual([]);
      if (environment === "typescript-process" && zygote === "on") {
        expect(children.map(({ name }) => name)).toEqual(
          expect.arrayContaining(["cyrnel-zygote", "cyrnel-run"]),
        );
      }
      await server.post(`${path}/signals/kill`);
    }
    expect(readScore("self")).toBe(own);
  },
  60_000,
);

test.runIf(process.platform === "linux")("so are the processes that bundle", async () => {
  const folder = join(import.meta.dirname, "../../node_modules");
  const children = await watchChildren(() => bundlePackage(folder, "diff"));
  expect(children.map(({ score }) => score)).toContain("1000");
  expect(children.filter(({ score }) => score !== "1000")).toEqual([]);
});
