/**
 * Measures installing a large OpenAPI document on a real server: time, peak memory, and how long other requests wait;
 * then the cost of the declarations of all its tools over HTTP.
 * `node bench/tools/install.ts [document]`; without one it takes GitHub's description.
 */
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { largeDocument } from "#tests/contract/adapters/openapi/documents.ts";
import { startService } from "../service.ts";
import { atMost, formatTable, median, ms, quantile, type Row } from "../stats.ts";

const ROUNDS = 3;
const MAX_INSTALL_MS = 5000;
const MAX_PEAK_MB = 400;
const PROBE_EVERY_MS = 10;
const DECLARATION_ROUNDS = 30;
const MAX_COLD_DECLARATIONS_MS = 2000;
const MAX_KEPT_DECLARATIONS_MS = 20;

const [file] = process.argv.slice(2);
const document = Buffer.from(file === undefined ? largeDocument("github.json").text() : await readFile(file));

/** The most memory a process ever had resident, in MiB. */
async function readPeakMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "latin1");
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
}

const files = createServer((_, response) => void response.end(document));
await new Promise<void>((resolve) => files.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(files.address() as AddressInfo).port}/`;

const rows: Row[] = [];
{
  await using service = await startService({ CYRNEL_EGRESS_ALLOW: "127.0.0.1" });
  const idleMb = await readPeakMb(service.pid);
  const times: number[] = [];
  const waits: number[] = [];
  let installing = true;
  const probing = (async () => {
    while (installing) {
      const started = performance.now();
      await service.request("GET", "/health");
      waits.push(performance.now() - started);
      await sleep(PROBE_EVERY_MS);
    }
  })();
  let firstPeakMb = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const started = performance.now();
    const answer = await service.request("POST", "/services", { id: `big${round}`, adapter: "openapi", url });
    if (answer.status !== 201) throw new Error(`not installed: ${JSON.stringify(answer.body)}`);
    times.push(performance.now() - started);
    if (round === 0) firstPeakMb = await readPeakMb(service.pid);
  }
  installing = false;
  await probing;
  const enabling = performance.now();
  const enabled = await service.request("POST", "/services/big0/enabled", { enabled: true });
  const enabledMs = performance.now() - enabling;
  const declared: number[] = [];
  for (let round = 0; round <= DECLARATION_ROUNDS; round += 1) {
    const started = performance.now();
    const answer = await service.request("GET", "/tools/types.d.ts");
    if (answer.status !== 200) throw new Error(`no declarations: ${JSON.stringify(answer.body)}`);
    declared.push(performance.now() - started);
  }
  const [coldMs = Number.NaN, ...cachedMs] = declared;
  rows.push(
    { measure: "document", value: `${(document.length / 2 ** 20).toFixed(1)} MiB` },
    atMost("first install", times[0] ?? Number.NaN, MAX_INSTALL_MS, ms(times[0] ?? Number.NaN), " ms"),
    atMost(`install, median of ${ROUNDS}`, median(times), MAX_INSTALL_MS, ms(median(times)), " ms"),
    { measure: "peak memory before", value: `${idleMb.toFixed(0)} MiB` },
    atMost("peak memory, first install", firstPeakMb, MAX_PEAK_MB, `${firstPeakMb.toFixed(0)} MiB`, " MiB"),
    { measure: `peak memory after ${ROUNDS}`, value: `${(await readPeakMb(service.pid)).toFixed(0)} MiB` },
    { measure: "GET /health meanwhile, p50", value: ms(median(waits)) },
    { measure: "GET /health meanwhile, longest", value: ms(quantile(waits, 1)) },
    { measure: `enable (${enabled.status})`, value: ms(enabledMs) },
    atMost("types.d.ts, first", coldMs, MAX_COLD_DECLARATIONS_MS, ms(coldMs), " ms"),
    atMost("types.d.ts, kept, p50", median(cachedMs), MAX_KEPT_DECLARATIONS_MS, ms(median(cachedMs)), " ms"),
    { measure: "types.d.ts, kept, p95", value: ms(quantile(cachedMs, 0.95)) },
  );
}
files.closeAllConnections();
files.close();
console.log(formatTable(rows));
if (rows.some((row) => row.met === false)) process.exitCode = 1;
