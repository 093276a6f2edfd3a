/**
 * `npm run bench -- attacks [name…]`: one key attacks a fresh server while another key continues its work. Prints the
 * delays of the server's event loop, its memory, and how long the other key waits. Compare with `nothing`: the
 * attacker's own load is on the same machine.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { listHostileSources } from "#tests/security/hostile-sources.ts";
import { type BenchService, startService } from "../service.ts";
import { formatCells, median } from "../stats.ts";

const ADMIN_KEY = "attacks-bench-0123456789-abcdef";
const SCOPES = ["processes:read", "processes:write"];
const MIB = 1024 ** 2;
const MAX_CODE_BYTES = 100_000;
const HOLD_MS = 5000;
const SETTLE_MS = 3000;
const LOOK_MS = 50;
const BETWEEN_MS = 20;

interface Client {
  key: string;
  post(path: string, json: unknown): Promise<{ status: number; body: Record<string, unknown> }>;
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

interface Attack {
  name: string;
  environment?: Record<string, string>;
  /** Prepares the other key's work; by default a small run. */
  work?(other: Client): Promise<() => Promise<unknown>>;
  run(attacker: Client, service: BenchService): Promise<string>;
}

const ATTACKS: Attack[] = [
  {
    name: "nothing",
    run: () => sleep(HOLD_MS, ""),
  },
  {
    name: "hostile sources",
    async run(attacker) {
      const reasons = new Map<string, number>();
      for (const { code, files = {} } of listHostileSources(MAX_CODE_BYTES)) {
        const run = { code, files, block: true, options: { timeout: 5000 } };
        const { status, body } = await attacker.post("/processes", run);
        const reason = String(status === 201 ? body.reason : body.code);
        reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
      }
      return [...reasons].map(([reason, count]) => `${count} ${reason}`).join(", ");
    },
  },
  {
    name: "bodies that never end",
    async run(attacker, { url }) {
      const sockets = Array.from({ length: 400 }, () => sendUnfinished(url, attacker.key, 2 * MIB));
      await sleep(HOLD_MS);
      const refused = sockets.filter(({ isAnswered }) => isAnswered()).length;
      for (const { socket } of sockets) socket.destroy();
      return `${refused} of ${sockets.length} refused`;
    },
  },
  {
    name: "a full queue",
    environment: { CYRNEL_MAX_ACTIVE_PROCESSES: "100" },
    async run(attacker) {
      let taken = 0;
      let refused = 0;
      const code = "await new Promise((done) => setTimeout(done, 500));";
      const untilMs = performance.now() + HOLD_MS;
      const client = async () => {
        while (performance.now() < untilMs) {
          if ((await attacker.post("/processes", { code })).status === 201) taken += 1;
          else refused += 1;
        }
      };
      await Promise.all(Array.from({ length: 16 }, client));
      return `${taken} taken, ${refused} refused`;
    },
  },
  {
    name: "a full spool",
    environment: { CYRNEL_MAX_SPOOL_BYTES: String(256 * MIB) },
    async run(attacker) {
      const code = `
        const piece = new Uint8Array(1024 * 1024);
        for (let n = 0; n < 60; n += 1) await cyrnel.files.write("f" + n, piece);
        await new Promise((done) => setTimeout(done, ${HOLD_MS}));`;
      const runs = Array.from({ length: 8 }, () =>
        attacker.post("/processes", { code, block: true, options: { timeout: 2 * HOLD_MS } }),
      );
      const reasons = (await Promise.all(runs)).map(({ body }) => body.reason);
      return `${reasons.filter((reason) => reason === "output_limit").length} of ${runs.length} stopped`;
    },
  },
  {
    name: "large downloads",
    async work(other) {
      const id = await upload(other, Buffer.from("small"));
      return async () => (await other.fetch(`/files/${id}/content`)).arrayBuffer();
    },
    async run(attacker) {
      const id = await upload(attacker, randomBytes(32 * MIB));
      const untilMs = performance.now() + HOLD_MS;
      let bytes = 0;
      const client = async () => {
        while (performance.now() < untilMs) {
          const { body } = await attacker.fetch(`/files/${id}/content`);
          for await (const piece of body ?? []) {
            bytes += piece.length;
            if (performance.now() > untilMs) break;
          }
        }
      };
      await Promise.all(Array.from({ length: 40 }, client));
      return `${Math.round(bytes / MIB)} MiB`;
    },
  },
];

async function upload(client: Client, bytes: Buffer): Promise<string> {
  const headers = { "content-type": "application/octet-stream" };
  const answer = await client.fetch("/files", { method: "POST", headers, body: new Uint8Array(bytes) });
  return ((await answer.json()) as { id: string }).id;
}

function sendUnfinished(url: string, key: string, bytes: number): { socket: Socket; isAnswered(): boolean } {
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname).on("error", () => {});
  let isAnswered = false;
  socket.once("data", () => {
    isAnswered = true;
  });
  socket.write(
    `POST /processes HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`,
  );
  socket.write(Buffer.alloc(bytes - 1, "x"));
  return { socket, isAnswered: () => isAnswered };
}

function clientWith(url: string, key: string): Client {
  const send: Client["fetch"] = (at, init = {}) =>
    fetch(url + at, { ...init, headers: { ...init.headers, authorization: `Bearer ${key}` } });
  return {
    key,
    fetch: send,
    async post(at, json) {
      const headers = { "content-type": "application/json" };
      const answer = await send(at, { method: "POST", headers, body: JSON.stringify(json) });
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    },
  };
}

async function smallRun(other: Client): Promise<() => Promise<unknown>> {
  const code = 'await cyrnel.files.write("a.txt", "x"); return 1;';
  return async () => {
    const { body } = await other.post("/processes", { code, block: true });
    if (body.exitState !== "success") throw new Error(`the other key's run: ${JSON.stringify(body)}`);
  };
}

const readRssMb = async (pid: number) =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(await readFile(`/proc/${pid}/status`, "latin1"))?.[1]) / 1024;

async function measure({ name, environment, work = smallRun, run }: Attack): Promise<string[]> {
  const folder = await mkdtemp(path.join(tmpdir(), "cyrnel-attacks-"));
  const probe = path.join(folder, "delays.json");
  try {
    await using service = await startService({
      NODE_OPTIONS: `--import ${new URL("./probe.ts", import.meta.url).pathname}`,
      ATTACKS_PROBE: probe,
      CYRNEL_API_KEY: ADMIN_KEY,
      ...environment,
    });
    const readDelays = async (): Promise<number[]> => {
      await rm(probe, { force: true });
      process.kill(service.pid, "SIGUSR2");
      for (;;) {
        const text = await readFile(probe, "utf8").catch(() => null);
        if (text !== null) return JSON.parse(text);
        await sleep(LOOK_MS);
      }
    };
    const admin = clientWith(service.url, ADMIN_KEY);
    const makeClient = async (label: string) =>
      clientWith(service.url, String((await admin.post("/keys", { name: label, scopes: SCOPES })).body.key));
    const [attacker, other] = [await makeClient("attacker"), await makeClient("other")];
    const once = await work(other);
    for (let n = 0; n < 5; n += 1) await once();
    const before = await readRssMb(service.pid);
    await readDelays();
    let isOver = false;
    let peak = before;
    const failures: string[] = [];
    const waits: number[] = [];
    const watching = (async () => {
      for (; !isOver; await sleep(LOOK_MS)) peak = Math.max(peak, await readRssMb(service.pid));
    })();
    const working = (async () => {
      for (; !isOver; await sleep(BETWEEN_MS)) {
        const startedMs = performance.now();
        await once().catch((error) => failures.push((error as Error).message));
        waits.push(performance.now() - startedMs);
      }
    })();
    const outcome = await run(attacker, service);
    isOver = true;
    await Promise.all([watching, working]);
    const delays = await readDelays();
    await sleep(SETTLE_MS);
    const failed = failures.length === 0 ? "" : `; ${failures.length} failed: ${failures[0]?.slice(0, 200)}`;
    return [
      name,
      ...[...delays, before, peak, await readRssMb(service.pid), median(waits), Math.max(...waits)].map(
        (figure) => figure.toFixed(0),
      ),
      `${waits.length}${failed}`,
      outcome,
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const wanted = process.argv.slice(2);
const head =
  "attack|delay p50|p99|p100 ms|RSS before|peak|after MiB|other: median|max ms|requests|attacker".split("|");
const rows: string[][] = [];
for (const attack of ATTACKS) {
  if (wanted.length > 0 && !wanted.includes(attack.name)) continue;
  rows.push(await measure(attack));
}
console.log(formatCells([head, ...rows]));
