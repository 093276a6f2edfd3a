/**
 * What asking a person costs: from a call that is to be approved to a process that clients see `paused`, from a decision
 * to the next thing the script does (in its child, and in another one after 100 calls), and the list of 10,000 that
 * wait. Needs a build. Run: npm run bench -- approvals
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Pool } from "#api/db/pool.ts";
import type { AdapterModule, ServiceDefinition } from "#sdk";
import { installService, openInProcess, type Send } from "../in-process.ts";
import { atMost, formatTable, median, ms, quantile, type Row } from "../stats.ts";

const ROUNDS = 25;
const LOGGED_CALLS = 100;
const PENDING = 10_000;
const LISTS = 100;
const PAGE = 200;
const HOLD_MS = 3000;
const MAX_PAUSE_MS = 20;
const MAX_RESUME_MS = 20;
const MAX_REPLAY_MS = 100;
const MAX_LIST_MS = 20;

/** When each tool was called last. */
const calledAtMs = new Map<string, number>();

function createAdapter(): AdapterModule {
  return {
    setup: async () => {},
    teardown: async () => {},
    generateDefinition: async (input) => JSON.parse(input) as ServiceDefinition,
    hydrateService: async () => {},
    dehydrateService: async () => {},
    invoke: async ({ toolId }) => {
      calledAtMs.set(toolId, performance.now());
      return { toolId };
    },
  };
}

const tool = (id: string) => ({
  id,
  name: id,
  description: "",
  inputSchema: {},
  outputSchema: {},
  adapterDomain: {},
});
const content = {
  name: "Bench",
  description: "",
  configSchema: {},
  secretsSchema: {},
  adapterDomain: {},
  tools: ["before", "asked", "after"].map(tool),
};
const manifest = { id: "bench", type: "adapter" as const, name: "Bench", description: "", main: "index.ts" };

function scriptWith(calls: number): string {
  return `for (let n = 0; n < ${calls}; n += 1) await tools.bench.before({ n });
    await tools.bench.asked({});
    await tools.bench.after({});`;
}

async function withServer<T>(holdMs: number, work: (send: Send, sql: Pool) => Promise<T>): Promise<T> {
  await using server = await openInProcess({ CYRNEL_APPROVAL_HOLD_MS: String(holdMs) }, [
    {
      id: "typescript-process",
      type: "environment",
      load: () => import("#modules/typescript-process/index.ts"),
    },
    { id: "bench", type: "adapter", load: async () => ({ manifest, instantiate: createAdapter }) },
  ]);
  const { send, pool } = server;
  await installService(send, "bench", "bench", content);
  await send("POST", "/policies", { servicePattern: "bench", toolPattern: "asked", decision: "ask" });
  return await work(send, pool);
}

/** One run from its call to its end; times in milliseconds. */
async function measureRun(send: Send, calls: number, hold: () => Promise<unknown>) {
  const { id } = await send("POST", "/processes", { code: scriptWith(calls) });
  const paused = await send("GET", `/processes/${id}?wait=20000`);
  const pauseMs = performance.now() - (calledAtMs.get("before") ?? 0);
  if (paused.state !== "paused") throw new Error(`the process is ${paused.state}: ${paused.error}`);
  await hold();
  const decidedAtMs = performance.now();
  await send("POST", `/approvals/${paused.approvals[0]}/approve`, {});
  const record = await waitForEnd(send, id);
  if (record.exitState !== "success") throw new Error(`the script ended ${record.reason}: ${record.error}`);
  return { pauseMs, resumeMs: (calledAtMs.get("after") ?? 0) - decidedAtMs };
}

async function waitForEnd(send: Send, id: number) {
  for (;;) {
    const record = await send("GET", `/processes/${id}?wait=20000`);
    if (record.state !== "paused") return record;
    await sleep(1);
  }
}

const inPlace = await withServer(60_000, async (send) => {
  const runs = [];
  for (let round = 0; round < ROUNDS; round += 1) runs.push(await measureRun(send, 1, () => sleep(50)));
  return runs.slice(3);
});

const replayed = await withServer(0, async (send) => {
  const runs = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    // Until the child has gone, and another is warm.
    runs.push(await measureRun(send, LOGGED_CALLS, () => sleep(400)));
  }
  return runs.slice(3);
});

const lists = await withServer(HOLD_MS, async (send, sql) => {
  await sql`
    with made as (
      insert into processes (code, state, claim, queued_at, started_at, asked)
      select 'await 1', 'paused', gen_random_uuid(), now(), now(), true from generate_series(1, ${PENDING}) returning id
    ), kept as (
      insert into process_checkpoints (process_id, run, replayable, detached, usage)
      select id, gen_random_uuid(), true, true, '{}' from made
    )
    insert into approvals (
      id, process_id, run, seq, kind, service_id, tool_id, destructive, digest, message, requested_by, expires_at
    )
    select 'apr_' || rpad(id::text, 22, 'x'), id, gen_random_uuid(), 1, 'call', 'bench', 'asked', false,
      sha256(id::text::bytea), 'The script wants to call bench.asked.', 'anonymous', now() + interval '1 day'
    from made`;
  await sql`analyze approvals`;
  const first: number[] = [];
  const deep: number[] = [];
  let cursor = "";
  for (let count = 0; count < LISTS; count += 1) {
    const start = performance.now();
    const page = await send("GET", `/approvals?state=pending&limit=${PAGE}`);
    first.push(performance.now() - start);
    if (page.approvals.length !== PAGE) throw new Error(`a page of ${page.approvals.length}`);
    const deepStart = performance.now();
    const next = await send("GET", `/approvals?state=pending&limit=${PAGE}${cursor && `&cursor=${cursor}`}`);
    deep.push(performance.now() - deepStart);
    cursor = next.nextCursor ?? "";
  }
  return { first, deep };
});

const pauses = inPlace.map(({ pauseMs }) => pauseMs);
const resumes = inPlace.map(({ resumeMs }) => resumeMs);
const replays = replayed.map(({ resumeMs }) => resumeMs);
const rows: Row[] = [
  atMost("call to `paused` seen by a client, p50", median(pauses), MAX_PAUSE_MS, ms(median(pauses)), " ms"),
  { measure: "call to `paused` seen by a client, p95", value: ms(quantile(pauses, 0.95)) },
  atMost(
    "approve to the next call, in place, p50",
    median(resumes),
    MAX_RESUME_MS,
    ms(median(resumes)),
    " ms",
  ),
  { measure: "approve to the next call, in place, p95", value: ms(quantile(resumes, 0.95)) },
  atMost(
    `approve to the next call, repeating ${LOGGED_CALLS} calls, p50`,
    median(replays),
    MAX_REPLAY_MS,
    ms(median(replays)),
    " ms",
  ),
  {
    measure: `approve to the next call, repeating ${LOGGED_CALLS} calls, p95`,
    value: ms(quantile(replays, 0.95)),
  },
  atMost(
    `${PAGE} of ${PENDING} pending listed, p50`,
    median(lists.first),
    MAX_LIST_MS,
    ms(median(lists.first)),
    " ms",
  ),
  { measure: "pages further down, p95", value: ms(quantile(lists.deep, 0.95)) },
];
console.log(formatTable(rows));
if (rows.some(({ met }) => met === false)) process.exitCode = 1;
