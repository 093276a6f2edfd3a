/** Clients that go away, clocks that jump, and tools that are slow or never answer. */
import { writeFile } from "node:fs/promises";
import http from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { API_KEY, type Cluster, startCluster } from "./cluster.ts";
import { request, startLoad } from "./load.ts";
import { collect, type Outcome } from "./report.ts";

const code = (n: number) =>
  n % 3 === 0 ? `await new Promise((done) => setTimeout(done, 800)); return ${n}` : `return ${n}`;

/** Long-polls, event streams and blocking submissions that are cut off in the middle. */
export async function disconnectClients(count: number): Promise<Outcome> {
  await using cluster = await startCluster({ replicas: 2 });
  const load = startLoad(cluster, { clients: 4, code, pauseMs: 60 });
  await sleep(1000);
  const [one, two] = cluster.replicas as [Cluster["replicas"][0], Cluster["replicas"][0]];
  const slow = await request(one.url, "POST", "/processes", {
    body: { code: "await new Promise((done) => setTimeout(done, 15_000))" },
  });
  const { id } = JSON.parse(slow.text) as { id: number };
  load.accepted.add(id);
  const open: http.ClientRequest[] = [];
  for (let n = 0; n < count; n += 1) {
    const { url } = n % 2 === 0 ? one : two;
    const pathname = n % 4 < 2 ? `/processes/${id}?wait=60000` : `/processes/${id}/events`;
    const headers = { authorization: `Bearer ${API_KEY}` };
    const outgoing = http.get(new URL(pathname, url), { headers, agent: false }, (incoming) =>
      incoming.resume(),
    );
    outgoing.on("error", () => {});
    open.push(outgoing);
    if (n % 50 === 0) await sleep(20);
  }
  await sleep(2000);
  const began = performance.now();
  for (const outgoing of open) outgoing.destroy();
  let listeners = Number.NaN;
  while (listeners !== 0 && performance.now() - began < 30_000) {
    await sleep(100);
    const metrics = await Promise.all(cluster.replicas.map(({ url }) => request(url, "GET", "/metrics")));
    listeners = metrics.reduce(
      (sum, { text }) => sum + Number(/^cyrnel_listeners (\d+)/m.exec(text)?.[1]),
      0,
    );
  }
  const recoveryMs = [performance.now() - began];
  await load.stop();
  return await collect(cluster, load.accepted, {
    fault: "clients disconnect in the middle of a wait",
    injected: count,
    orphans: listeners,
    recoveryMs,
    note: "orphans: listeners left; recovery: until none is",
  });
}

/** The clock of each server jumps by up to a day, back and forth; that of the database does not. */
export async function jumpClocks(forMs: number): Promise<Outcome> {
  await using cluster = await startCluster({ replicas: 1 });
  const preload = path.join(cluster.directory, "jump.mjs");
  await writeFile(
    preload,
    `const now = Date.now, Real = Date; let skew = 0;
     setInterval(() => { skew = (Math.random() - 0.5) * 2 * 86_400_000; }, 700).unref();
     globalThis.Date = class extends Real {
       constructor(...given) { if (given.length === 0) super(now() + skew); else super(...given); }
       static now() { return now() + skew; }
     };`,
  );
  const jumping = { nodeFlags: ["--import", preload] };
  await cluster.start(jumping);
  await cluster.start(jumping);
  const load = startLoad(cluster, { clients: 4, code, pauseMs: 60 });
  await sleep(forMs);
  await load.stop();
  return await collect(cluster, load.accepted, {
    fault: "clock jumps by up to a day",
    injected: Math.round(forMs / 700) * 2,
    orphans: 0,
    recoveryMs: [],
    note: "two of three servers, injected into Date",
  });
}

/** A service whose tools answer late, never, or with far more than may be kept. */
export async function hangTools(forMs: number): Promise<Outcome> {
  const upstream = http.createServer((incoming, outgoing) => {
    if (incoming.url?.startsWith("/never")) return;
    if (incoming.url?.startsWith("/huge")) {
      outgoing.writeHead(200, { "content-type": "application/json" });
      const chunk = Buffer.alloc(1024 * 1024, "x");
      outgoing.write('"');
      let left = 100;
      const more = () => {
        while (left > 0) {
          left -= 1;
          if (!outgoing.write(chunk)) return void outgoing.once("drain", more);
        }
        outgoing.end('"');
      };
      more();
      return;
    }
    setTimeout(() => outgoing.writeHead(200, { "content-type": "application/json" }).end("1"), 700);
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const { port } = upstream.address() as AddressInfo;
  try {
    await using cluster = await startCluster({
      replicas: 2,
      environment: { CYRNEL_EGRESS_ALLOW: "127.0.0.1", CYRNEL_INVOKE_TIMEOUT_MS: "3000" },
    });
    await install(cluster, port);
    const call = (n: number) => {
      const tool = ["late", "never", "huge"][n % 3];
      return `try { await tools.slow.${tool}({}); return "answered"; } catch (error) { return String(error.code); }`;
    };
    const load = startLoad(cluster, { clients: 6, code: call, pauseMs: 60 });
    await sleep(forMs);
    await load.stop();
    const outcome = await collect(cluster, load.accepted, {
      fault: "tools that are late, never answer, or answer 100 MB",
      injected: load.accepted.size,
      orphans: 0,
      recoveryMs: [],
    });
    const rows = await cluster.pool<{ result: string; count: number }[]>`
      select r.result::text as result, count(*)::int as count from process_results r group by 1`;
    outcome.note = rows.map(({ result, count }) => `${result} ${count}`).join(", ");
    return outcome;
  } finally {
    upstream.closeAllConnections();
    await new Promise((resolve) => upstream.close(resolve));
  }
}

async function install(cluster: Cluster, port: number): Promise<void> {
  const operation = (operationId: string) => ({
    get: {
      operationId,
      responses: { 200: { description: "ok", content: { "application/json": { schema: {} } } } },
    },
  });
  const content = JSON.stringify({
    openapi: "3.1.0",
    info: { title: "slow", version: "1" },
    servers: [{ url: `http://127.0.0.1:${port}` }],
    paths: { "/late": operation("late"), "/never": operation("never"), "/huge": operation("huge") },
  });
  const url = cluster.replicas[0]?.url ?? "";
  for (const [pathname, body] of [
    ["/services", { id: "slow", adapter: "openapi", content }],
    ["/services/slow/enabled", { enabled: true }],
  ] as const) {
    const answer = await request(url, "POST", pathname, { body });
    if (answer.status >= 300) throw new Error(`${pathname} answered ${answer.status}: ${answer.text}`);
  }
  await sleep(2000);
}
