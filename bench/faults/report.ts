/** What a fault has left behind: every accepted process is looked at, in the database and in the log it has written. */
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { findChildren } from "../service.ts";
import { quantile } from "../stats.ts";
import type { Cluster } from "./cluster.ts";

export interface Outcome {
  fault: string;
  injected: number;
  submitted: number;
  /** Exit state or reason -> how many. */
  final: Map<string, number>;
  /** Accepted, and without a final state in time, or not there at all. */
  lost: number;
  /** More than one result, or begun more than once. */
  doubled: number;
  orphans: number;
  /** From the fault to the last process that it had interrupted, per fault. */
  recoveryMs: number[];
  note?: string;
}

/** Without one more that has ended. */
const SETTLE_MS = 60_000;
const ORPHAN_GRACE_MS = 5000;

/** Waits until everything has ended, then counts. */
export async function collect(
  cluster: Cluster,
  accepted: ReadonlySet<number>,
  fault: Pick<Outcome, "fault" | "injected" | "orphans" | "recoveryMs" | "note">,
): Promise<Outcome> {
  const { pool } = cluster;
  let deadline = performance.now() + SETTLE_MS;
  for (let before = Number.POSITIVE_INFINITY; ; ) {
    const [row] = await pool<{ open: number }[]>`
      select count(*)::int as open from processes where state <> 'idle'`;
    const open = row?.open ?? 0;
    if (open < before) deadline = performance.now() + SETTLE_MS;
    before = open;
    if (open === 0 || performance.now() > deadline) break;
    await sleep(200);
  }
  const rows = await pool<{ id: number; state: string; reason: string | null }[]>`
    select id, state, reason from processes`;
  const byId = new Map(rows.map((row) => [row.id, row]));
  const final = new Map<string, number>();
  let lost = 0;
  for (const id of accepted) {
    const row = byId.get(id);
    if (row?.state !== "idle" || row.reason === null) lost += 1;
    else final.set(row.reason, (final.get(row.reason) ?? 0) + 1);
  }
  for (const row of await pool<{ reason: string; message: string | null }[]>`
    select p.reason, r.error_detail ->> 'message' as message
    from processes p left join process_results r on r.process_id = p.id
    where p.reason not in ('ok', 'interrupted', 'killed') limit 5`) {
    process.stderr.write(`unexpected: ${row.reason}: ${row.message}\n`);
  }
  // Returned claims are begun by nobody; everything else that became running was.
  const [twice] = await pool<{ count: number }[]>`
    select count(*)::int as count from (
      select process_id from bench_log group by process_id
      having count(*) filter (where after = 'idle' and before is not null) > 1
        or count(*) filter (where after = 'running') - count(*) filter (where before = 'running' and after = 'queued') > 1
    ) t`;
  return { ...fault, submitted: accepted.size, final, lost, doubled: twice?.count ?? 0 };
}

/** Which children of servers that are gone are still there after a moment. `children` as seen before. */
export async function countOrphans(children: readonly { pid: number; started: string }[]): Promise<number> {
  const deadline = performance.now() + ORPHAN_GRACE_MS;
  for (;;) {
    const alive = [];
    for (const { pid, started } of children) if ((await readStart(pid)) === started) alive.push(pid);
    if (alive.length === 0 || performance.now() > deadline) return alive.length;
    await sleep(50);
  }
}

export async function listChildren(serverPid: number): Promise<{ pid: number; started: string }[]> {
  const pids = await findChildren(serverPid, "child.js");
  const all = await Promise.all(pids.map(async (pid) => ({ pid, started: (await readStart(pid)) ?? "" })));
  return all.filter(({ started }) => started !== "");
}

async function readStart(pid: number): Promise<string | null> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => null);
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields === undefined || fields[0] === "Z" ? null : (fields[19] ?? null);
}

/** As one aligned Markdown table. */
export function formatOutcomes(outcomes: readonly Outcome[]): string {
  const lines = [
    ["fault", "injected", "submitted", "final states", "lost", "doubled", "orphans", "recovery (p50 / max)"],
    ...outcomes.map((one) => [
      one.fault + (one.note ? ` (${one.note})` : ""),
      String(one.injected),
      String(one.submitted),
      [...one.final].map(([reason, count]) => `${reason} ${count}`).join(", "),
      String(one.lost),
      String(one.doubled),
      String(one.orphans),
      one.recoveryMs.length === 0
        ? "-"
        : `${seconds(quantile(one.recoveryMs, 0.5))} / ${seconds(Math.max(...one.recoveryMs))}`,
    ]),
  ];
  const widths = (lines[0] as string[]).map((_, column) =>
    Math.max(...lines.map((line) => (line[column] ?? "").length)),
  );
  const shown = lines.map((line) => `| ${line.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(" | ")} |`);
  shown.splice(1, 0, `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`);
  return shown.join("\n");
}

const seconds = (value: number) => `${(value / 1000).toFixed(1)} s`;
