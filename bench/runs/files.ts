/**
 * `npm run bench -- files`: what files cost a run, over HTTP with the bundled database: bytes in and out, memory of the child, many
 * small ones, and lines of a large one. Rounds with and without files alternate. Exit code 1 if a target is missed.
 */
import { type BenchService, startService } from "../service.ts";
import { atLeast, atMost, formatTable, median, ms, type Row } from "../stats.ts";

const ROUNDS = 7;
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
const LINES = `let lines = 0; for await (const line of cyrnel.files.lines("in")) lines += line.length > 0 ? 1 : 0; return lines`;
const MANY_SCRIPT = `
  const names = (await cyrnel.files.list()).map(({ name }) => name);
  const texts = await Promise.all(names.map((name) => cyrnel.files.text(name)));
  await Promise.all(names.map((name, index) => cyrnel.files.write("out/" + name, texts[index])));
  return names.length`;

interface Run {
  ms: number;
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

async function upload(service: BenchService, size: number, seed: number): Promise<string> {
  const line = `${String(seed).padStart(15, "0")} ${"0123456789abcdef".repeat(7)}\n`;
  const answer = await fetch(`${service.url}/files`, { method: "POST", body: Buffer.alloc(size, line) });
  if (!answer.ok) throw new Error(`an upload failed: ${await answer.text()}`);
  return ((await answer.json()) as { id: string }).id;
}

const rows: Row[] = [];
await using service = await startService();
for (const environment of ENVIRONMENTS) {
  const enabled = await service.request("POST", `/modules/${environment}/enabled`, { enabled: true });
  if (enabled.status >= 300)
    throw new Error(`${environment} was not enabled: ${JSON.stringify(enabled.body)}`);
  const copies: number[] = [];
  const plain: Run[] = [];
  const pieces: Run[] = [];
  const many: number[] = [];
  const files = Object.fromEntries(
    Array.from({ length: MANY }, (_, index) => [`${index}.txt`, { text: "x" }]),
  );
  await run(service, { code: "return 1" });
  for (let round = 0; round < ROUNDS; round++) {
    // Contents of their own: what is stored already would not be stored again.
    const id = await upload(service, SIZE, round + (environment === "typescript-ivm" ? ROUNDS : 0));
    plain.push(await run(service, { code: "return 1" }));
    const suffix = `await cyrnel.files.append("out", "${environment} ${round}");`;
    copies.push(
      (await run(service, { code: COPY.replace("return", `${suffix} return`), files: { in: { id } } })).ms,
    );
    pieces.push(await run(service, { code: COPY_PIECES, files: { in: { id } } }));
    if (round < 3) many.push((await run(service, { code: MANY_SCRIPT, files })).ms);
  }
  const copy = median(copies);
  const rate = (2 * SIZE) / 1e6 / (copy / 1000);
  const shown = `${rate.toFixed(0)} MB/s, ${ms(copy)}`;
  const isProcess = environment === "typescript-process";
  const measure = `${environment}: 10 MiB in and 10 MiB out, end to end`;
  rows.push(isProcess ? atLeast(measure, rate, 100, shown, " MB/s") : { measure, value: shown });
  const grown =
    median(pieces.map(({ peakMemoryBytes }) => peakMemoryBytes)) -
    median(plain.map(({ peakMemoryBytes }) => peakMemoryBytes));
  const grownShown = `${(grown / MEBIBYTE).toFixed(1)} MiB`;
  const growth = `${environment}: memory of a run that copies 10 MiB piece by piece, over one without files`;
  rows.push(
    isProcess
      ? atMost(growth, grown / MEBIBYTE, 4, grownShown, " MiB")
      : { measure: growth, value: grownShown },
  );
  const large = await upload(service, LARGE, 1);
  const lines = await run(service, { code: LINES, files: { in: { id: large } }, options: { memoryMb: 64 } });
  rows.push({ measure: `${environment}: lines of 60 MiB in a run with 64 MB`, value: ms(lines.ms) });
  rows.push({ measure: `${environment}: ${MANY} files read and ${MANY} written`, value: ms(median(many)) });
}
console.log(formatTable(rows));
if (rows.some(({ met }) => met === false)) process.exitCode = 1;
