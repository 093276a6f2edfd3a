/**
 * `npm run bench -- forks [--count N] [--idle N]`: forks N children from zygotes (20,000), gives each a short script and checks what it
 * answers; then keeps so many idle (500) and prints what they take together with their zygote. Exit code 1 if one child is
 * bad, or a target is missed.
 */
import { readFile } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { parseArgs } from "node:util";
import { PROCESS_READABLE, planProcessLaunch } from "#runner/isolation/process-launch.ts";
import { openWall } from "#runner/isolation/wall.ts";
import { type Child, spawnChild } from "#runner/pool/spawn.ts";
import { keepZygotes } from "#runner/pool/zygote.ts";
import { findNodeBinary } from "#runner/process/node-binary.ts";
import { DEFAULT_SESSION_LIMITS } from "#runner/wire/protocol.ts";
import { findChildren, readPssMb } from "../service.ts";
import { atMost, formatTable, median, ms, perSecond } from "../stats.ts";

const { values } = parseArgs({
  options: { count: { type: "string", default: "20000" }, idle: { type: "string", default: "500" } },
});
const count = Number(values.count);
const idleCount = Number(values.idle);
const MEMORY_MB = 128;
const AT_ONCE = availableParallelism() * 2;
const EVERY = 50_000;

const node = findNodeBinary();
await using wall = await openWall({
  level: "strict",
  nodePath: node.path,
  readable: PROCESS_READABLE,
  cwd: tmpdir(),
  paranoid: false,
});
if (wall.startZygote === null) throw new Error("no zygote can be had here: npx cyrnel doctor says why");
const plan = planProcessLaunch(node, wall, { allowEval: false, allowWasm: false, paranoid: false }, tmpdir());
const troubles: string[] = [];
let booted = 0;
await using zygotes = keepZygotes({
  launch: plan(MEMORY_MB, "zygote"),
  startZygote: wall.startZygote,
  async boot(program) {
    booted += 1;
    return wall.start(program);
  },
  onTrouble: (error) => void troubles.push(error.message),
});

const fork = () => spawnChild(plan(MEMORY_MB), undefined, zygotes.start);

/** Milliseconds of CPU time, its end included. Throws for a child that does not do what it must. */
async function runOne(number: number): Promise<number> {
  const child = await fork();
  const { promise: answered, resolve, reject } = Promise.withResolvers<unknown>();
  child.channel.attach({
    message: ({ value }) => resolve(value),
    closed: ({ kind }) => reject(new Error(`the channel was ${kind}`)),
  });
  const seeds = { seed: Buffer.alloc(32, number).toString("base64"), randomSeed: [number, 2, 3, 4] };
  const params = {
    code: `(async()=>${number}+[1,2,3].map((n)=>n*2).length)`,
    mappings: "",
    process: { id: number, ref: null },
    ...seeds,
    readsWideClocks: false,
    limits: { ...DEFAULT_SESSION_LIMITS, maxOutputBytes: 1024, maxResultBytes: 1024 },
  };
  child.channel.send(JSON.stringify({ jsonrpc: "2.0", method: "start", params }));
  try {
    const answer = (await answered) as { method?: string; params?: { result?: unknown } };
    if (answer.method !== "end" || answer.params?.result !== number + 3) {
      throw new Error(`it answered ${JSON.stringify(answer).slice(0, 200)}`);
    }
  } finally {
    child.kill();
    child.channel.close();
  }
  const exit = (await child.exited) as { signal: string | null; cpuMs?: number };
  if (exit.signal !== "SIGKILL") throw new Error(`it ended by ${exit.signal}`);
  return exit.cpuMs ?? 0;
}

const bad: string[] = [];
const cpu: number[] = [];
let next = 0;
const startedAt = performance.now();
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    while (next < count) {
      const number = ++next;
      try {
        const used = await runOne(number);
        if (number % 100 === 0) cpu.push(used);
      } catch (error) {
        bad.push(`${number}: ${(error as Error).message}`);
      }
      if (number % EVERY === 0) console.error(`${number} forks, ${bad.length} bad`);
    }
  }),
);
const seconds = (performance.now() - startedAt) / 1000;
const { renewals = 0 } = zygotes.status() ?? {};

const idle: Child[] = [];
for (let at = 0; at < idleCount; at += 1) idle.push(await fork());
const [zygote = 0] = await findChildren(process.pid, "cyrnel-zygote", "comm");
const zygoteMb = await readPssMb(zygote);
const pss: number[] = [];
for (const { pid } of idle) pss.push(await readPssMb(pid));
const rss = /^VmRSS:\s*(\d+)/m.exec(await readFile(`/proc/${zygote}/status`, "latin1"))?.[1];
const together = zygoteMb + pss.reduce((sum, one) => sum + one, 0);
for (const child of idle) {
  child.kill();
  child.channel.close();
}
await Promise.all(idle.map(({ exited }) => exited));

for (const line of [...bad, ...troubles].slice(0, 20)) console.log(line);
const rows = [
  { measure: `forks, ${AT_ONCE} at a time`, value: perSecond(count / seconds) },
  { measure: "CPU of a fork with its script and its end, p50", value: ms(median(cpu)) },
  { measure: "zygotes", value: String(renewals + 1) },
  atMost(`bad children of ${count}`, bad.length, 0, String(bad.length)),
  atMost("children that were booted instead", booted, 0, String(booted)),
  { measure: "the zygote, RSS", value: `${(Number(rss) / 1024).toFixed(1)} MiB` },
  atMost(`one of ${idleCount} idle children, PSS`, median(pss), 3, `${median(pss).toFixed(2)} MiB`, " MiB"),
  atMost(`${idleCount} idle children and their zygote`, together, 1536, `${together.toFixed(0)} MiB`, " MiB"),
];
console.log(formatTable(rows));
process.exitCode = rows.some((row) => "met" in row && row.met === false) ? 1 : 0;
