/** One of three servers ends without a word, or falls silent for longer than it may, under load. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Cluster, startCluster } from "./cluster.ts";
import { request, startLoad } from "./load.ts";
import { collect, countOrphans, listChildren, type Outcome } from "./report.ts";

/** Some take long enough to be caught in the middle. */
const code = (n: number) =>
  n % 3 === 0 ? `await new Promise((done) => setTimeout(done, 800)); return ${n}` : `return ${n}`;
const LOAD = { clients: 6, code, pauseMs: 60 };
const MAX_SILENT_MS = 20_000;
const ORPHAN_GRACE_MS = 5000;

/** `hidePlaces`: the servers are on machines of their own, so only silence tells. */
export async function killServers(times: number, hidePlaces: boolean): Promise<Outcome> {
  await using cluster = await startCluster({ replicas: 3, hidePlaces });
  const load = startLoad(cluster, LOAD);
  const faults: { replica: string; at: number }[] = [];
  let orphans = 0;
  for (let time = 0; time < times; time += 1) {
    await sleep(700 + (time % 5) * 150);
    const victim = cluster.replicas[0];
    if (victim === undefined) throw new Error("no server is left");
    const replica = await findId(cluster, victim.url);
    const children = await listChildren(victim.pid);
    await cluster.kill(victim);
    faults.push({ replica, at: Date.now() });
    orphans += await countOrphans(children);
    await cluster.start();
  }
  await load.stop();
  if (hidePlaces) await sleep(MAX_SILENT_MS);
  const outcome = await collect(cluster, load.accepted, {
    fault: "kill -9 of one of three servers",
    injected: times,
    orphans,
    recoveryMs: [],
    note: hidePlaces ? "seen by silence only" : "same machine",
  });
  outcome.recoveryMs = await readRecoveries(cluster, faults);
  return outcome;
}

/** SIGSTOP until the others have given it up, then SIGCONT. */
export async function freezeServers(times: number): Promise<Outcome> {
  await using cluster = await startCluster({ replicas: 3 });
  const load = startLoad(cluster, LOAD);
  await sleep(MAX_SILENT_MS);
  const faults: { replica: string; at: number }[] = [];
  let orphans = 0;
  for (let time = 0; time < times; time += 1) {
    await sleep(2000);
    const victim = cluster.replicas[0];
    if (victim === undefined) throw new Error("no server is left");
    const replica = await findId(cluster, victim.url);
    // Nothing is sent to one that does not answer.
    cluster.replicas.shift();
    victim.child.kill("SIGSTOP");
    faults.push({ replica, at: Date.now() });
    await sleep(MAX_SILENT_MS + 8000);
    victim.child.kill("SIGCONT");
    cluster.replicas.push(victim);
    orphans += await countUnclaimed(cluster, victim.url, replica);
  }
  await load.stop();
  const outcome = await collect(cluster, load.accepted, {
    fault: "SIGSTOP past the lease, then SIGCONT",
    injected: times,
    orphans,
    recoveryMs: [],
  });
  outcome.recoveryMs = await readRecoveries(cluster, faults);
  return outcome;
}

/** Runs that a server still has in children although they are no longer its own, after a moment. */
async function countUnclaimed(cluster: Cluster, url: string, replica: string): Promise<number> {
  const deadline = performance.now() + ORPHAN_GRACE_MS;
  for (;;) {
    const answer = await request(url, "GET", "/environment");
    const { capacity } = JSON.parse(answer.text) as { capacity: { busy: number } };
    const [row] = await cluster.pool<{ count: number }[]>`
      select count(*)::int as count from processes where replica = ${replica}::uuid and state = 'running'`;
    const unclaimed = capacity.busy - (row?.count ?? 0);
    if (unclaimed <= 0 || performance.now() > deadline) return Math.max(0, unclaimed);
    await sleep(100);
  }
}

async function findId({ pool }: Cluster, url: string): Promise<string> {
  const [row] = await pool<{ id: string }[]>`select id from replicas where address = ${url}`;
  if (row === undefined) throw new Error(`no server at ${url}`);
  return row.id;
}

/** From each fault to the last end of a run that the server had held. */
async function readRecoveries(
  { pool }: Cluster,
  faults: readonly { replica: string; at: number }[],
): Promise<number[]> {
  const found: number[] = [];
  for (const { replica, at } of faults) {
    const [row] = await pool<{ last: Date | null }[]>`
      select max(at) as last from bench_log
      where replica = ${replica}::uuid and after = 'idle' and reason = 'interrupted' and at >= ${new Date(at)}`;
    if (row?.last) found.push(row.last.getTime() - at);
  }
  return found;
}
