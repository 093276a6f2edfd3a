/**
 * What a tool call of a script costs on top of the request it makes: calls through the bridge, the whole path of calls
 * and an adapter to a loopback server, beside a direct fetch of the same server by the host, in turns. Once with an
 * adapter that does nothing but fetch, once with the bundled one for OpenAPI. Needs a build: npm run build.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { AdapterModule, ServiceDefinition } from "#sdk";
import { installService, openInProcess, runScript } from "../in-process.ts";
import { atMost, formatTable, median, ms, quantile, type Row } from "../stats.ts";

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

const document = {
  openapi: "3.1.0",
  info: { title: "Loopback", version: "1" },
  servers: [{ url: new URL(url).origin }],
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

const scriptFor = (service: string) => `
const times = [];
for (let count = 0; count < ${CALLS}; count += 1) {
  const start = performance.now();
  await tools.${service}.list({ query: { page: count } });
  times.push(performance.now() - start);
}
return times;`;

try {
  await using server = await openInProcess({ CYRNEL_EGRESS_ALLOW: "127.0.0.1" }, [
    {
      id: "typescript-process",
      type: "environment",
      load: () => import("#modules/typescript-process/index.ts"),
    },
    { id: "openapi", type: "adapter", load: () => import("#modules/openapi/index.ts") },
    { id: "bench", type: "adapter", load: async () => ({ manifest, instantiate: createAdapter }) },
  ]);
  const { send } = server;
  await installService(send, "loopback", "bench", definition);
  await installService(send, "described", "openapi", document);
  const measureBridged = async (service: string) => (await runScript(send, scriptFor(service))) as number[];
  const direct: number[] = [];
  const bridged: number[] = [];
  const described: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const times = [
      await measureBridged("loopback"),
      await measureDirect(),
      await measureBridged("described"),
    ];
    if (round === 0) continue;
    for (const [index, samples] of [bridged, direct, described].entries())
      samples.push(...(times[index] ?? []));
  }
  const added = median(bridged) - median(direct);
  const rows: Row[] = [
    { measure: "direct fetch by the host, p50", value: ms(median(direct)) },
    { measure: "direct fetch by the host, p95", value: ms(quantile(direct, 0.95)) },
    { measure: "tool call by a script, p50", value: ms(median(bridged)) },
    { measure: "tool call by a script, p95", value: ms(quantile(bridged, 0.95)) },
    atMost("added by the call, p50", added, MAX_ADDED_MS, ms(added), " ms"),
    { measure: "the same with the adapter for OpenAPI, p50", value: ms(median(described)) },
    { measure: "added by the call and that adapter, p50", value: ms(median(described) - median(direct)) },
  ];
  console.log(formatTable(rows));
  if (added > MAX_ADDED_MS) process.exitCode = 1;
} finally {
  target.stdin.end();
}
