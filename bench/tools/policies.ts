/**
 * `npm run bench -- policies`: what the check of role and policies adds to one tool call, over the real gate with its rules
 * in a real database. Prints one table; ends with exit code 1 when the target is missed.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { startEmbeddedPostgres } from "#api/db/embedded.ts";
import { migrate } from "#api/db/migrate.ts";
import { createPool, type Pool } from "#api/db/pool.ts";
import { createGovernance } from "#api/governance.ts";
import type { CallGate } from "#api/tools/gate.ts";
import { atMost, formatTable, quantile, type Row } from "../stats.ts";

const TARGET_MICROSECONDS = 20;
const SAMPLES = 20_000;
const WARM_UP = 2000;
const KEY_ID = `key_${"a".repeat(20)}`;
const ROLE_ID = `role_${"a".repeat(20)}`;

interface Case {
  title: string;
  rules: number;
  /** The tool of the nth call. */
  tool: (n: number) => { serviceId: string; toolId: string };
  /** Patterns of the nth rule. */
  rule: (n: number) => { service: string; tool: string };
  target: boolean;
}

const mixedRule = (n: number) => {
  const service = `service${n % 50}`;
  const tool = ["*", `tool${n % 200}`, `delete_*`, `tool${n % 97}`, `*_admin`][n % 5] as string;
  return { service: n % 7 === 0 ? "*" : service, tool: n % 7 === 0 ? `never_${n}_*` : tool };
};
const few = (n: number) => ({ serviceId: `service${n % 50}`, toolId: `tool${n % 20}` });
const fresh = (n: number) => ({ serviceId: `service${n % 50}`, toolId: `other${n}` });
const wildcard = (n: number) => ({ service: "*", tool: `never_${n}_*` });

const CASES: Case[] = [
  { title: "1,000 mixed rules, tools called before", rules: 1000, tool: few, rule: mixedRule, target: true },
  {
    title: "1,000 mixed rules, every tool for the first time",
    rules: 1000,
    tool: fresh,
    rule: mixedRule,
    target: true,
  },
  {
    title: "1,000 wildcard rules of which none matches, first time",
    rules: 1000,
    tool: fresh,
    rule: wildcard,
    target: true,
  },
  {
    title: "10,000 mixed rules, every tool for the first time",
    rules: 10_000,
    tool: fresh,
    rule: mixedRule,
    target: false,
  },
  {
    title: "10,000 wildcard rules of which none matches, first time",
    rules: 10_000,
    tool: fresh,
    rule: wildcard,
    target: false,
  },
];

/** Microseconds of each `canSee` with its `decide`. */
async function measure(gate: CallGate, tool: Case["tool"]): Promise<number[]> {
  const caller = { keyId: KEY_ID, processId: 1 };
  const samples: number[] = [];
  for (let n = -WARM_UP; n < SAMPLES; n += 1) {
    const call = tool(n + WARM_UP);
    const startedMs = performance.now();
    if (!gate.canSee(caller, call)) throw new Error(`${call.serviceId}.${call.toolId} is not visible`);
    await gate.decide(caller, { ...call, destructive: true });
    if (n >= 0) samples.push((performance.now() - startedMs) * 1000);
  }
  return samples;
}

async function storeRules(pool: Pool, { rules, rule }: Case): Promise<void> {
  const rows = Array.from({ length: rules }, (_, n) => ({
    n,
    id: n.toString(16).padStart(20, "0"),
    ...rule(n),
  }));
  await pool`delete from policies`;
  await pool`
    insert into policies (id, position, service_pattern, tool_pattern, decision)
    select 'pol_' || r.id, r.n, r.service, r.tool, 'ask'
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as r (n int, id text, service text, tool text)`;
}

async function storeKey(pool: Pool): Promise<void> {
  const allow = Array.from({ length: 100 }, (_, n) => `service${n}.*`);
  const deny = Array.from({ length: 100 }, (_, n) => `**.forbidden_${n}_*`);
  await pool`insert into roles (id, name, allow, deny) values (${ROLE_ID}, 'bench', ${allow}, ${deny})`;
  await pool`
    insert into api_keys (id, name, prefix, hash, scopes, role_id)
    values (${KEY_ID}, 'bench', 'cyk_bench', ${Buffer.alloc(32)}, '{}', ${ROLE_ID})`;
}

const directory = await mkdtemp(path.join(tmpdir(), "cyrnel-bench-policies-"));
await using undo = new AsyncDisposableStack();
undo.defer(() => rm(directory, { recursive: true, force: true }));
const postgres = undo.use(await startEmbeddedPostgres({ directory, durable: false }));
await migrate(postgres.url);
const pool = createPool(postgres.url, { maxConnections: 5 });
undo.defer(() => pool.end({ timeout: 5 }));
await storeKey(pool);

const table: Row[] = [];
for (const bench of CASES) {
  await storeRules(pool, bench);
  const log = { info: () => {}, warn: console.error, error: console.error };
  const config = { apiKey: null, defaultPolicy: "allow", auditRetentionDays: null } as const;
  await using governance = createGovernance({ pool, config, log, listTools: async () => [] });
  await governance.start();
  const samples = await measure(governance.gate, bench.tool);
  const p50 = quantile(samples, 0.5);
  const p99 = quantile(samples, 0.99);
  const shown = `p50 ${p50.toFixed(2)} µs, p99 ${p99.toFixed(2)} µs`;
  if (bench.target) table.push(atMost(bench.title, p50, TARGET_MICROSECONDS, shown, " µs p50"));
  else table.push({ measure: bench.title, value: shown });
}
console.log(formatTable(table));
process.exitCode = table.some(({ met }) => met === false) ? 1 : 0;
