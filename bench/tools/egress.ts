/**
 * What the guarded fetch adds to a request over loopback: `npm run bench -- egress`. Plain and guarded requests by turns,
 * because the machine's own speed changes.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { parseEgressEntries } from "#api/egress/entries.ts";
import { createGuardedFetch } from "#api/egress/fetch.ts";

const REQUESTS = 2000;
const ROUNDS = 5;

const server = createServer((_, response) => {
  response.setHeader("content-type", "application/json");
  response.end('{"ok":true}');
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
const guarded = createGuardedFetch({ allow: parseEgressEntries("127.0.0.1").entries, deny: [] });

await measure(fetch);
await measure(guarded);
for (let round = 1; round <= ROUNDS; round += 1) {
  const plain = await measure(fetch);
  const checked = await measure(guarded);
  console.log(
    `plain p50 ${plain.p50.toFixed(3)} ms p95 ${plain.p95.toFixed(3)}  guarded p50 ${checked.p50.toFixed(3)} ms p95 ${checked.p95.toFixed(3)}  ` +
      `added p50 ${(checked.p50 - plain.p50).toFixed(3)} ms`,
  );
}
await guarded[Symbol.asyncDispose]();
server.closeAllConnections();
server.close();

async function measure(request: typeof fetch): Promise<{ p50: number; p95: number }> {
  const times: number[] = [];
  for (let index = 0; index < REQUESTS; index += 1) {
    const startedMs = performance.now();
    await (await request(url)).text();
    times.push(performance.now() - startedMs);
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(times.length * share)] ?? Number.NaN;
  return { p50: at(0.5), p95: at(0.95) };
}
