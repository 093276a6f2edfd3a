/** The database goes away, or has no room left, under load. */
import { execFile } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { type Cluster, startCluster } from "./cluster.ts";
import { request, startLoad } from "./load.ts";
import { collect, type Outcome } from "./report.ts";

const run = promisify(execFile);
const code = (n: number) =>
  n % 3 === 0 ? `await new Promise((done) => setTimeout(done, 800)); return ${n}` : `return ${n}`;
const LOAD = { clients: 4, code, pauseMs: 60 };

/** Postgres stopped (fast) and started again. */
export async function stopDatabase(times: number): Promise<Outcome> {
  await using cluster = await startCluster({ replicas: 3 });
  const load = startLoad(cluster, LOAD);
  const recoveryMs: number[] = [];
  for (let time = 0; time < times; time += 1) {
    await sleep(1500);
    await cluster.stopPostgres();
    await sleep(time % 5 === 0 ? 10_000 : 1000);
    await cluster.startPostgres();
    recoveryMs.push(await measure(() => areReady(cluster)));
  }
  await load.stop();
  return await collect(cluster, load.accepted, {
    fault: "Postgres stopped and started",
    injected: times,
    orphans: 0,
    recoveryMs,
    note: "recovery: until all are ready",
  });
}

/** Postgres ends all connections, again and again for a second, while rules are changed in transactions. */
export async function endConnections(times: number): Promise<Outcome> {
  await using cluster = await startCluster({ replicas: 2 });
  const load = startLoad(cluster, LOAD);
  let isOver = false;
  const changes = cluster.replicas.map(async ({ url }) => {
    const rule = { servicePattern: "*", toolPattern: "never*", decision: "ask" };
    while (!isOver) {
      const made = await request(url, "POST", "/policies", { body: rule }).catch(() => null);
      if (made?.status === 201) {
        await request(url, "DELETE", `/policies/${JSON.parse(made.text).id}`).catch(() => null);
      }
    }
  });
  const recoveryMs: number[] = [];
  for (let time = 0; time < times; time += 1) {
    await sleep(1500);
    for (let storm = 0; storm < 50; storm += 1) {
      await cluster.pool`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name like 'cyrnel%'`;
      await sleep(20);
    }
    recoveryMs.push(await measure(() => areReady(cluster)));
  }
  isOver = true;
  await Promise.all(changes);
  await load.stop();
  for (const { child, stderr } of cluster.replicas) {
    if (child.exitCode !== null) throw new Error(`a server has ended:\n${stderr()}`);
  }
  return await collect(cluster, load.accepted, {
    fault: "connections of Postgres ended",
    injected: times * 50,
    orphans: 0,
    recoveryMs,
    note: "recovery: until all are ready",
  });
}

async function areReady({ replicas }: Cluster): Promise<boolean> {
  const answers = await Promise.all(
    replicas.map(({ url }) => request(url, "GET", "/health/ready").catch(() => null)),
  );
  return answers.every((answer) => answer?.status === 200);
}

/** The file system that holds the database is full, then has room again. Needs the right to mount a tmpfs. */
export async function fillDisk(times: number): Promise<Outcome> {
  const mount = path.join("/tmp", `cyrnel-full-${process.pid}`);
  await mkdir(mount);
  await run("mount", ["-t", "tmpfs", "-o", "size=256m", "tmpfs", mount]);
  try {
    await using cluster = await startCluster({ replicas: 2, directory: mount });
    const load = startLoad(cluster, LOAD);
    const recoveryMs: number[] = [];
    const filler = path.join(mount, "filler");
    for (let time = 0; time < times; time += 1) {
      await sleep(2000);
      await writeFile(filler, Buffer.alloc(256 * 1024 * 1024)).catch(() => {});
      await sleep(4000);
      await rm(filler);
      recoveryMs.push(
        await measure(async () => {
          const url = cluster.replicas[0]?.url ?? "";
          const body = { code: "return 1", block: true };
          const answer = await request(url, "POST", "/processes", { body }).catch(() => null);
          return answer?.status === 201 && answer.text.includes('"success"');
        }),
      );
    }
    await load.stop();
    return await collect(cluster, load.accepted, {
      fault: "disk full",
      injected: times,
      orphans: 0,
      recoveryMs,
      note: "recovery: until a run ends well",
    });
  } finally {
    await run("umount", [mount]);
    await rm(mount, { recursive: true, force: true });
  }
}

async function measure(holds: () => Promise<boolean>): Promise<number> {
  const began = performance.now();
  while (!(await holds())) {
    if (performance.now() - began > 60_000) throw new Error("not recovered within 60 s");
    await sleep(50);
  }
  return performance.now() - began;
}
