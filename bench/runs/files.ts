/**
 * `npm run bench -- files [--against <checkout>] [--rounds n]`: what files cost a run, over HTTP with the bundled database: bytes in
 * and out, memory of the child, many small ones, and lines of a large one. Rounds with and without files alternate; with a second
 * checkout, which must be built, its server takes turns with this one's. Exit code 1 if this one misses a target.
 */
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type BenchService, findChildren, startService } from "../service.ts";
import { atLeast, atMost, formatTable, median, ms, type Row } from "../stats.ts";

const MANY_ROUNDS = 3;
const MEBIBYTE = 1024 * 1024;
const SIZE = 10 * MEBIBYTE;
const LARGE = 60 * MEBIBYTE;
const MANY = 1000;
const ENVIRONMENTS = ["typescript-process", "typescript-ivm"] as const;

const COPY = `const bytes = await cyrnel.files.read("in"); await cyrnel.files.write("out", bytes); return bytes.length`;
const COPY_PIECES = `
  const { size } = await cyrnel.files.stat("in");
  for (let offset = 0; offset < size; offset += 262144) {
    await cyrnel.files.append("out", await cyrnel.files.read("in", { offset, length: 262144 }));
  }
  return size`;
/** Long enough to be looked at. */
const PLAIN = `await new Promise((resolve) => setTimeout(resolve, 200)); return 1`;
const LOOK_MS = 5;
const LINES = `let lines = 0; for await (const line of cyrnel.files.lines("in")) lines += line.length > 0 ? 1 : 0; return lines`;
const MANY_SCRIPT = `
  const names = (await cyrnel.files.list()).map(({ name }) => name);
  const texts = await Promise.all(names.map((name) => cyrnel.files.text(name)));
  await Promise.all(names.map((name, index) => cyrnel.files.write("out/" + name, texts[index])));
  return names.length`;

interface Run {
  ms: number;
  /** As the server reports it: pages of Node's own program are among it, which all children share. */
  peakMemoryBytes: number;
}

async function run(service: BenchService, body: object): Promise<Run> {
  const before = performance.now();
  const answer = await service.request("POST", "/processes", { block: true, ...body });
  const elapsed = performance.now() - before;
  const record = answer.body as { exitState: string; error: string; usage: { peakMemoryBytes: number } };
  if (record.exitState !== "success")
    throw new Error(`a run failed: ${JSON.stringify(answer.body).slice(0, 500)}`);
  return { ms: elapsed, peakMemoryBytes: record.usage.peakMemoryBytes };
}

/** The most that a process child has of memory of its own, while a run is under way. Bytes. */
async function runWatched(service: BenchService, body: object): Promise<number> {
  const over = run(service, body).then(() => "over" as const);
  let most = 0;
  while ((await Promise.race([over, sleep(LOOK_MS)])) !== "over") {
    for (const pid of await findChildren(service.pid, "cyrnel-run", "comm")) {
      const status = await readFile(`/proc/${pid}/status`, "latin1").catch(() => "");
      most = Math.max(most, Number(/^RssAnon:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024);
    }
  }
  return most;
}

async function upload(service: BenchService, size: number, seed: string): Promise<string> {
  const line = `${seed.padEnd(31)} ${"0123456789abcdef".repeat(6)}\n`;
  const answer = await fetch(`${service.url}/files`, { method: "POST", body: Buffer.alloc(size, line) });
  if (!answer.ok) throw new Error(`an upload failed: ${await answer.text()}`);
  return ((await answer.json()) as { id: string }).id;
}

interface Figures {
  copies: number[];
  plain: number[];
  pieces: number[];
  many: number[];
  lines: number[];
}

const files = Object.fromEntries(Array.from({ length: MANY }, (_, index) => [`${index}.txt`, { text: "x" }]));

/** Contents are of each round alone: what is stored already would not be stored again. */
async function measureRound(
  service: BenchService,
  figures: Figures,
  round: number,
  environment: string,
): Promise<void> {
  const seed = `${environment} ${round}`;
  const isProcess = environment === "typescript-process";
  const id = await upload(service, SIZE, seed);
  const measure = isProcess
    ? runWatched
    : async (...args: Parameters<typeof run>) => (await run(...args)).peakMemoryBytes;
  figures.plain.push(await measure(service, { code: PLAIN }));
  const copy = COPY.replace("return", `await cyrnel.files.append("out", "${seed}"); return`);
  figures.copies.push((await run(service, { code: copy, files: { in: { id } } })).ms);
  figures.pieces.push(await measure(service, { code: COPY_PIECES, files: { in: { id } } }));
  if (round >= MANY_ROUNDS) return;
  figures.many.push((await run(service, { code: MANY_SCRIPT, files })).ms);
  const large = await upload(service, LARGE, "large");
  const options = { memoryMb: 64 };
  figures.lines.push((await run(service, { code: LINES, files: { in: { id: large } }, options })).ms);
}

/** `isJudged`: it is this checkout, and has the targets of the process environment. */
function describe(title: string, { copies, plain, pieces, many, lines }: Figures, isJudged: boolean): Row[] {
  const copy = median(copies);
  const rate = (2 * SIZE) / 1e6 / (copy / 1000);
  const shown = `${rate.toFixed(0)} MB/s, ${ms(copy)}`;
  const grown = (median(pieces) - median(plain)) / MEBIBYTE;
  const copied = `${title}: 10 MiB in and 10 MiB out, end to end`;
  const grew = `${title}: memory of a run that copies 10 MiB piece by piece, over one without files`;
  const grownShown = `${grown.toFixed(1)} MiB`;
  return [
    isJudged ? atLeast(copied, rate, 100, shown, " MB/s") : { measure: copied, value: shown },
    isJudged ? atMost(grew, grown, 4, grownShown, " MiB") : { measure: grew, value: grownShown },
    { measure: `${title}: lines of 60 MiB in a run with 64 MB`, value: ms(median(lines)) },
    { measure: `${title}: ${MANY} files read and ${MANY} written`, value: ms(median(many)) },
  ];
}

const { values } = parseArgs({
  options: { against: { type: "string" }, rounds: { type: "string", default: "7" } },
});
await using stack = new AsyncDisposableStack();
const servers = [
  ...(values.against === undefined
    ? []
    : [{ name: `, ${values.against}`, service: stack.use(await startService({}, values.against)) }]),
  { name: "", service: stack.use(await startService()) },
];
const rows: Row[] = [];
for (const environment of ENVIRONMENTS) {
  const measured = new Map<string, Figures>();
  for (const { name, service } of servers) {
    const enabled = await service.request("POST", `/modules/${environment}/enabled`, { enabled: true });
    if (enabled.status >= 300)
      throw new Error(`${environment} was not enabled: ${JSON.stringify(enabled.body)}`);
    measured.set(name, { copies: [], plain: [], pieces: [], many: [], lines: [] });
    await run(service, { code: "return 1" });
  }
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const { name, service } of round % 2 === 0 ? servers : servers.toReversed()) {
      await measureRound(service, measured.get(name) as Figures, round, environment);
    }
  }
  for (const { name } of servers) {
    const isJudged = name === "" && environment === "typescript-process";
    rows.push(...describe(`${environment}${name}`, measured.get(name) as Figures, isJudged));
  }
}
console.log(formatTable(rows));
if (rows.some(({ met }) => met === false)) process.exitCode = 1;
