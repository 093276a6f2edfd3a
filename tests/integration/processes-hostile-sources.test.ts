/** A source that is made to hold up whoever parses it costs its own run, and no other one. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseConfig } from "#api/config.ts";
import type { ProcessRecord } from "#api/processes/model/schemas.ts";
import { type CyrnelServer, openServer } from "#api/server.ts";
import { listHostileSources } from "../security/hostile-sources.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";

let database: TestDatabase;
let server: CyrnelServer;
let url: string;
let maxStallMs: number;

beforeAll(async () => {
  database = await createTestDatabase();
  const parsed = parseConfig({ PORT: "0", SHUTDOWN_TIMEOUT_MS: "0" });
  if (!parsed.ok) throw new Error(parsed.problems.join("\n"));
  server = await openServer(parsed.config, {
    database: { pool: database.pool, watch: { reachable: true } },
    logger: pino({ level: "silent" }),
  });
  url = await server.listen();
  maxStallMs = 3 * calibrate();
});
afterAll(async () => {
  await server?.stop();
  await database?.drop();
});

/** Returns the CPU time in ms of work that a quiet machine of 2026 does in 50 ms. */
function calibrate(): number {
  const text = JSON.stringify(Array.from({ length: 20_000 }, (_, index) => ({ index, name: `n${index}` })));
  return timeCpu(() => {
    for (let count = 0; count < 5; count++) JSON.parse(text);
  });
}

/** Returns the CPU time in ms that `work` takes on this thread. */
function timeCpu(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  return toMs(process.threadCpuUsage(before));
}

const toMs = ({ user, system }: NodeJS.CpuUsage) => (user + system) / 1000;

/**
 * Returns the most CPU time in ms that this thread, which serves all requests, spends in one turn of its loop until `work` is done.
 * CPU time, because a busy machine may stop any thread at any time.
 */
async function longestTurn(work: Promise<unknown>): Promise<number> {
  let isOver = false;
  void work.finally(() => {
    isOver = true;
  });
  let longest = 0;
  while (!isOver) {
    const before = process.threadCpuUsage();
    await nextTurn();
    longest = Math.max(longest, toMs(process.threadCpuUsage(before)));
  }
  await work;
  return longest;
}

async function run(code: string, files?: Record<string, { text: string }>): Promise<ProcessRecord> {
  const response = await fetch(`${url}/processes`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code, files, block: true, options: { timeout: 30_000 } }),
  });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as ProcessRecord;
}

let count = 0;

/** Requests, and parses of their body, that one bound is taken from. */
const ATTEMPTS = 3;

test.each(listHostileSources(99_000))("$name", { timeout: 120_000 }, async ({ code, files, reason }) => {
  const hostile = run(code, files);
  const small = Promise.all([1, 2].map(() => run(`const a: number = ${++count}; return a;`)));
  const stall = await longestTurn(Promise.all([hostile, small]));
  for (const { reason: end } of await small) expect(end).toBe("ok");
  expect((await hostile).reason).toEqual(reason ?? expect.any(String));
  expect(stall).toBeLessThan(maxStallMs);
});

test.each([
  ["a body", 80_000, "more than 1000 members", (members: object) => members],
  ["files", 40_000, "files has more than 5000 members", (files: object) => ({ code: "1", files })],
  ["options", 80_000, "options has more than 5000 members", (options: object) => ({ code: "1", options })],
])("%s of %i members is refused before each is looked at", async (_, length, message, wrap) => {
  const body = JSON.stringify(
    wrap(Object.fromEntries(Array.from({ length }, (_, index) => [`k${index}`, 1]))),
  );
  const headers = { "content-type": "application/json" };
  const turnsMs: number[] = [];
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const refused = fetch(`${url}/processes`, { method: "POST", headers, body });
    turnsMs.push(await longestTurn(refused));
    expect(await (await refused).json()).toMatchObject({
      code: "invalid_json",
      error: expect.stringContaining(message),
    });
  }
  const parseMs = Array.from({ length: ATTEMPTS }, () => timeCpu(() => JSON.parse(body)));
  // A cold cache or a collection of garbage slows one attempt; validating each member slows all of them, to five times a parse and more.
  expect(Math.min(...turnsMs)).toBeLessThan(3 * Math.max(...parseMs));
});
