/**
 * `npm run bench -- across`: how soon a process that is submitted to a server without a free slot runs on another one, which has
 * nothing else to do, on servers as `npm start` starts them. Ends with exit code 1 where the script starts later than it may
 * after its claim. Option: --processes 200.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { atMost, formatTable, median, ms, quantile, type Row } from "../stats.ts";
import { type Replica, startCluster } from "./cluster.ts";
import { request } from "./load.ts";

const MAX_START_MS = 10;
const PAUSE_MS = 50;
const WARM_UP = 20;
const HOLD = "await new Promise(() => setTimeout(() => {}, 2 ** 30))";

const { values } = parseArgs({ options: { processes: { type: "string", default: "200" } } });
const processes = Number(values.processes);

interface Listed {
  replicas: { isSelf: boolean; address: string | null; slots: number | null; running: number }[];
}
interface Ended {
  id: number;
  exitState: string | null;
  usage: { queuedMs: number; startMs: number };
}

async function ask<Answer>({ url }: Replica, method: string, path: string, body?: unknown): Promise<Answer> {
  const answer = await request(url, method, path, { ...(body !== undefined && { body }), timeoutMs: 70_000 });
  if (answer.status >= 300)
    throw new Error(`${method} ${path} was answered ${answer.status}: ${answer.text}`);
  return JSON.parse(answer.text) as Answer;
}

await using cluster = await startCluster({ replicas: 2 });
const [full] = cluster.replicas as [Replica, ...Replica[]];
async function readFull() {
  const { replicas } = await ask<Listed>(full, "GET", "/replicas");
  return replicas.find(({ isSelf }) => isSelf) as Listed["replicas"][number];
}
while ((await ask<Listed>(full, "GET", "/replicas")).replicas.some(({ address }) => address === null))
  await sleep(50);
const { slots } = await readFull();
if (slots === null) throw new Error("the environment does not say how many slots it has");
const held: number[] = [];
for (let n = 0; n < slots; n += 1) {
  const body = { code: HOLD, options: { timeout: null } };
  held.push((await ask<{ id: number }>(full, "POST", "/processes", body)).id);
}
if ((await readFull()).running !== slots) throw new Error("a slot of the first server was left free");

const samples = { queued: [] as number[], start: [] as number[], whole: [] as number[] };
for (let n = 0; n < WARM_UP + processes; n += 1) {
  // The other server has a child ready again by then.
  await sleep(PAUSE_MS);
  const start = performance.now();
  const record = await ask<Ended>(full, "POST", "/processes", { code: `return ${n}`, block: true });
  const whole = performance.now() - start;
  if (record.exitState !== "success") throw new Error(`process ${record.id} ended as ${record.exitState}`);
  if (n < WARM_UP) continue;
  samples.queued.push(record.usage.queuedMs);
  samples.start.push(record.usage.startMs);
  samples.whole.push(whole);
}
const [elsewhere] = await cluster.pool<{ count: number }[]>`
  select count(distinct replica)::int as count from processes where state = 'idle'`;
for (const id of held) await ask(full, "POST", `/processes/${id}/signals/kill`);

const show = (all: number[]) => `p50 ${ms(median(all))}, p95 ${ms(quantile(all, 0.95))}`;
const rows: Row[] = [
  { measure: "runs, each queued on one server and run on another", value: String(samples.start.length) },
  { measure: "from queued to claimed", value: show(samples.queued) },
  atMost(
    "from claimed to the script's start",
    median(samples.start),
    MAX_START_MS,
    show(samples.start),
    " ms p50",
  ),
  { measure: "from the request to its answer, on the server that is full", value: show(samples.whole) },
];
console.log(formatTable(rows));
if (elsewhere?.count !== 1) throw new Error("some ran on the server that was full");
process.exitCode = rows.some(({ met }) => met === false) ? 1 : 0;
