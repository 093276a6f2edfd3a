/**
 * What a tool call of a script costs on top of the request it makes: calls through the bridge, the whole path of calls
 * and an adapter to a loopback server, beside a direct fetch of the same server by the host, in turns. Needs a build.
 * Run: npm run build && node bench/call-overhead.ts
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pino } from "pino";
import { parseConfig } from "#api/config.ts";
import { openDatabase } from "#api/db/database.ts";
import { openServer } from "#api/server.ts";
import type { AdapterModule, ServiceDefinition } from "#sdk";
import { atMost, formatTable, median, ms, quantile, type Row } from "./stats.ts";

const ROUNDS = 8;
const CALLS = 150;
const MAX_ADDED_MS = 1;

const target = spawn(process.execPath, [new URL("./loopback-server.ts", import.meta.url).pathname], {
  stdio: ["pipe", "pipe", "inherit"],
});
const [port] = await once(target.stdout, "data");
const url = `http://127.0.0.1:${Number(port)}/items`;

function createAdapter(): AdapterModule {
  let request = globalThis.fetch;
  return {
    setup: async (context) => {
      request = context.fetch;
    },
    teardown: async () => {},
    generateDefinition: async (input) => JSON.parse(input) as ServiceDefinition,
    hydrateService: async () => {},
    dehydrateService: async () => {},
    invoke: async ({ signal }) => (await request(url, { signal: signal ?? null })).json(),
  };
}

const manifest = { id: "bench", type: "adapter" as const, name: "Bench", description: "", main: "index.ts" };
const definition = {
  name: "Loopback",
  description: "",
  configSchema: {},
  secretsSchema: {},
  adapterDomain: {},
  tools: [
    {
      id: "list",
      name: "List",
      description: "",
      inputSchema: {
        type: "object",
        properties: {
          query: { type: "object", properties: { page: { type: "integer", default: 1 } }, default: {} },
        },
      },
      outputSchema: {},
      adapterDomain: {},
    },
  ],
};

async function measureDirect(): Promise<number[]> {
  const times: number[] = [];
  for (let count = 0; count < CALLS; count += 1) {
    const start = performance.now();
    await (await fetch(url)).json();
    times.push(performance.now() - start);
  }
  return times;
}

const SCRIPT = `
const times = [];
for (let count = 0; count < ${CALLS}; count += 1) {
  const start = performance.now();
  await tools.loopback.list({ query: { page: count } });
  times.push(performance.now() - start);
}
return times;`;

const directory = await mkdtemp(path.join(tmpdir(), "cyrnel-bench-calls-"));
try {
  const parsed = parseConfig({
    CYRNEL_DATA_DIR: directory,
    CYRNEL_EGRESS_ALLOW: "127.0.0.1",
    LOG_LEVEL: "silent",
  });
  if (!parsed.ok) throw new Error(parsed.problems.join("\n"));
  await using database = await openDatabase(parsed.config, { onTakenOver: () => {} });
  await using server = await openServer(parsed.config, {
    database,
    logger: pino({ level: "silent" }),
    builtins: [
      {
        id: "typescript-process",
        type: "environment",
        load: () => import("#modules/typescript-process/index.ts"),
      },
      { id: "bench", type: "adapter", load: async () => ({ manifest, instantiate: createAdapter }) },
    ],
  });
  const send = async (route: string, payload: object) => {
    const answer = await server.app.inject({ method: "POST", url: route, payload });
    if (answer.statusCode >= 300)
      throw new Error(`POST ${route} answered ${answer.statusCode}: ${answer.body}`);
    return answer.json();
  };
  await send("/services", { id: "loopback", adapter: "bench", content: JSON.stringify(definition) });
  await send("/services/loopback/enabled", { enabled: true });
  const direct: number[] = [];
  const bridged: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const record = await send("/processes", { code: SCRIPT, block: true });
    if (record.exitState !== "success") throw new Error(`the script ended ${record.reason}: ${record.error}`);
    const times = await measureDirect();
    if (round === 0) continue;
    bridged.push(...record.result);
    direct.push(...times);
  }
  const added = median(bridged) - median(direct);
  const rows: Row[] = [
    { measure: "direct fetch by the host, p50", value: ms(median(direct)) },
    { measure: "direct fetch by the host, p95", value: ms(quantile(direct, 0.95)) },
    { measure: "tool call by a script, p50", value: ms(median(bridged)) },
    { measure: "tool call by a script, p95", value: ms(quantile(bridged, 0.95)) },
    atMost("added by the call, p50", added, MAX_ADDED_MS, ms(added), " ms"),
  ];
  console.log(formatTable(rows));
  if (added > MAX_ADDED_MS) process.exitCode = 1;
} finally {
  target.stdin.end();
  await rm(directory, { recursive: true, force: true });
}
