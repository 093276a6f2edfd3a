/**
 * What `fetch` by a rule of the adapter `http` costs a script, beside a direct fetch of the same loopback server by the host, in
 * turns of one run. Needs a build: npm run build.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { installService, openInProcess, runScript } from "../in-process.ts";
import { atMost, formatTable, median, ms, quantile, type Row } from "../stats.ts";

const ROUNDS = 8;
const CALLS = 150;
const MAX_ADDED_MS = 1;

const target = spawn(process.execPath, [new URL("./loopback-server.ts", import.meta.url).pathname], {
  stdio: ["pipe", "pipe", "inherit"],
});
const [port] = await once(target.stdout, "data");
const origin = `http://127.0.0.1:${Number(port)}`;
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

const scriptOf = (request: string) => `
const times = [];
for (let count = 0; count < ${CALLS}; count += 1) {
  const start = performance.now();
  ${request};
  times.push(performance.now() - start);
}
return times;`;
const address = `${JSON.stringify(url)} + "?page=" + count`;
const fetching = scriptOf(`await (await fetch(${address})).text()`);
const calling = scriptOf(`await tools.web.read({ url: ${address} })`);

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
  ]);
  const { send } = server;
  await installService(send, "web", "http", {
    rules: [{ name: "read", origins: [origin], pathPrefix: "/items", methods: ["GET"] }, ...rules],
  });
  const direct: number[] = [];
  const bridged: number[] = [];
  const named: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const fetched = (await runScript(send, fetching)) as number[];
    const bare = await measureDirect();
    const called = (await runScript(send, calling)) as number[];
    if (round === 0) continue;
    bridged.push(...fetched);
    direct.push(...bare);
    named.push(...called);
  }
  const added = median(bridged) - median(direct);
  const rows: Row[] = [
    { measure: "direct fetch by the host, p50", value: ms(median(direct)) },
    { measure: "direct fetch by the host, p95", value: ms(quantile(direct, 0.95)) },
    { measure: "fetch of a script by a rule, p50", value: ms(median(bridged)) },
    { measure: "fetch of a script by a rule, p95", value: ms(quantile(bridged, 0.95)) },
    { measure: "the same by the name of the rule, p50", value: ms(median(named)) },
    atMost("added by script, rule and adapter, p50", added, MAX_ADDED_MS, ms(added), " ms"),
  ];
  console.log(formatTable(rows));
  if (added > MAX_ADDED_MS) process.exitCode = 1;
} finally {
  target.stdin.end();
}
