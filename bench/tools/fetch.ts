/**
 * What `fetch` by a rule of the adapter `http` costs a script, beside a direct fetch of the same loopback server by the host. The rule
 * attaches a credential, so the server speaks TLS. In the script, requests by fetch take turns with calls of the same request as a tool
 * of the adapter for OpenAPI, with a credential too, and by the name of the rule; the host's requests come between the runs. Needs a
 * build: npm run build.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import tls from "node:tls";
import { SELF_SIGNED } from "#tests/integration/harness/self-signed.ts";
import { installService, openInProcess, runScript } from "../in-process.ts";
import { atMost, formatTable, median, ms, quantile, type Row } from "../stats.ts";

const ROUNDS = 8;
const CALLS = 150;
const MAX_ADDED_MS = 1;

tls.setDefaultCACertificates([...tls.getCACertificates("default"), SELF_SIGNED.cert]);
const program = new URL("./loopback-server.ts", import.meta.url).pathname;
const target = spawn(process.execPath, [program, "https"], {
  stdio: ["pipe", "pipe", "inherit"],
});
const [port] = await once(target.stdout, "data");
const origin = `https://127.0.0.1:${Number(port)}`;
const url = `${origin}/items`;

async function measureDirect(): Promise<number[]> {
  const times: number[] = [];
  for (let count = 0; count < CALLS; count += 1) {
    const start = performance.now();
    await (await fetch(url)).text();
    times.push(performance.now() - start);
  }
  return times;
}

const script = `
const ways = {
  fetched: async (url) => (await fetch(url)).text(),
  called: (_url, page) => tools.items.list({ query: { page } }),
  named: (url) => tools.web.read({ url }),
};
const times = { fetched: [], called: [], named: [] };
for (let count = 0; count < ${CALLS}; count += 1) {
  for (const way of Object.keys(ways)) {
    const start = performance.now();
    await ways[way](${JSON.stringify(url)} + "?page=" + count, count);
    times[way].push(performance.now() - start);
  }
}
return times;`;

/** The same request as an operation. */
const document = {
  openapi: "3.1.0",
  info: { title: "Items", version: "1" },
  servers: [{ url: origin }],
  security: [{ token: [] }],
  components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
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

/** Beside it, as on a server that has some. */
const rules = Array.from({ length: 20 }, (_, index) => ({
  name: `other${index}`,
  origins: [`https://host${index}.example`],
  methods: ["GET", "POST"],
}));

try {
  await using server = await openInProcess({ CYRNEL_EGRESS_ALLOW: "127.0.0.1" }, [
    {
      id: "typescript-process",
      type: "environment",
      load: () => import("#modules/typescript-process/index.ts"),
    },
    { id: "http", type: "adapter", load: () => import("#modules/http/index.ts") },
    { id: "openapi", type: "adapter", load: () => import("#modules/openapi/index.ts") },
  ]);
  const { send } = server;
  const read = { name: "read", origins: [origin], pathPrefix: "/items", methods: ["GET"] };
  await installService(send, "web", "http", { rules: [{ ...read, auth: { type: "bearer" } }, ...rules] });
  await installService(send, "items", "openapi", document);
  for (const [id, secret] of [
    ["web", "read"],
    ["items", "token"],
  ]) {
    const value = "secret-of-the-benchmark-0123456789";
    await send("PATCH", `/services/${id}/secrets`, [{ op: "add", path: `/${secret}`, value }]);
  }
  const direct: number[] = [];
  const times: Record<"fetched" | "called" | "named", number[]> = { fetched: [], called: [], named: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    const measured = (await runScript(send, script)) as typeof times;
    const bare = await measureDirect();
    if (round === 0) continue;
    direct.push(...bare);
    for (const way of ["fetched", "called", "named"] as const) times[way].push(...measured[way]);
  }
  const added = median(times.fetched) - median(direct);
  const rows: Row[] = [
    { measure: "direct fetch by the host, p50", value: ms(median(direct)) },
    { measure: "direct fetch by the host, p95", value: ms(quantile(direct, 0.95)) },
    { measure: "fetch of a script by a rule, p50", value: ms(median(times.fetched)) },
    { measure: "fetch of a script by a rule, p95", value: ms(quantile(times.fetched, 0.95)) },
    { measure: "the same by the name of the rule, p50", value: ms(median(times.named)) },
    { measure: "the same as a tool of the adapter for OpenAPI, p50", value: ms(median(times.called)) },
    { measure: "fetch over that tool, p50", value: ms(median(times.fetched) - median(times.called)) },
    atMost("added by script, rule and adapter, p50", added, MAX_ADDED_MS, ms(added), " ms"),
  ];
  console.log(formatTable(rows));
  if (added > MAX_ADDED_MS) process.exitCode = 1;
} finally {
  target.stdin.end();
}
