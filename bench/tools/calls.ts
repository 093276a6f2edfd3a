/**
 * `npm run bench -- calls`: time that a script's tool call adds to its request: the bridge, the whole path of calls
 * and the OpenAPI adapter, alternating with a direct fetch of the same loopback server by the host.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { installService, openInProcess, runScript } from "../in-process.ts";
import { atMost, formatTable, median, ms, quantile } from "../stats.ts";

const ROUNDS = 8;
const CALLS = 150;
const MAX_ADDED_MS = 1;
/** Runs in its own process, so that it does not share the measured event loop. */
const SERVER = `
  const server = require("node:http").createServer((_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end('{"items":[{"id":1,"title":"one"},{"id":2,"title":"two"}]}');
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
  process.stdin.resume().on("end", () => process.exit(0));`;
const SCRIPT = `
  const times = [];
  for (let count = 0; count < ${CALLS}; count += 1) {
    const start = performance.now();
    await tools.loopback.list({ query: { page: count } });
    times.push(performance.now() - start);
  }
  return times;`;

const target = spawn(process.execPath, ["-e", SERVER], { stdio: ["pipe", "pipe", "inherit"] });
const [port] = await once(target.stdout, "data");
const origin = `http://127.0.0.1:${Number(port)}`;
const document = {
  openapi: "3.1.0",
  info: { title: "Loopback", version: "1" },
  servers: [{ url: origin }],
  paths: {
    "/items": {
      get: {
        operationId: "list",
        parameters: [{ name: "page", in: "query", schema: { type: "integer" } }],
        responses: { 200: { description: "", content: { "application/json": { schema: {} } } } },
      },
    },
  },
};

async function fetchDirectly(): Promise<number[]> {
  const times: number[] = [];
  for (let count = 0; count < CALLS; count += 1) {
    const start = performance.now();
    await (await fetch(`${origin}/items`)).json();
    times.push(performance.now() - start);
  }
  return times;
}

try {
  await using server = await openInProcess({ CYRNEL_EGRESS_ALLOW: "127.0.0.1" });
  await installService(server.send, "loopback", "openapi", document);
  const direct: number[] = [];
  const called: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const times = (await runScript(server.send, SCRIPT)) as number[];
    const fetched = await fetchDirectly();
    if (round === 0) continue;
    called.push(...times);
    direct.push(...fetched);
  }
  const added = median(called) - median(direct);
  const row = atMost("added by the call, p50", added, MAX_ADDED_MS, ms(added), " ms");
  console.log(
    formatTable([
      { measure: "direct fetch, p50, p95", value: `${ms(median(direct))}, ${ms(quantile(direct, 0.95))}` },
      { measure: "tool call, p50, p95", value: `${ms(median(called))}, ${ms(quantile(called, 0.95))}` },
      row,
    ]),
  );
  if (row.met === false) process.exitCode = 1;
} finally {
  target.stdin.end();
}
