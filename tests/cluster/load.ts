/**
 * Runs in a pod: twenty requests a second until there is a file /tmp/stop, half of them over connections that are kept, half over new
 * ones. It never tries again: each request that has no success is a failure. Writes a report as JSON.
 */
import { existsSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

export interface LoadReport {
  requests: number;
  /** Submitted scripts among them. */
  runs: number;
  /** Outcome of the failed requests, with the second in which they were sent. */
  failures: string[];
  /** Processes that did not end as they should, or are not there. */
  lost: string[];
  /** Milliseconds from a request to its whole answer. */
  p50: number;
  p95: number;
  max: number;
}

const PER_SECOND = 20;
const STOP = "/tmp/stop";
const url = process.env.CYRNEL_URL ?? "";
const headers = {
  authorization: `Bearer ${process.env.CYRNEL_API_KEY}`,
  "content-type": "application/json",
};
const kept = new Agent({ keepAlive: true });
const failures: string[] = [];
/** Of the processes submitted, by the number of the request. */
const ids = new Map<number, number>();
const timesMs: number[] = [];

function ask(
  method: string,
  path: string,
  agent: Agent | false,
  json?: object,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(url + path, { method, headers, agent, timeout: 60_000 }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part) => {
        text += part;
      });
      answer.on("error", reject);
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    sent.on("timeout", () => sent.destroy(new Error("no answer for a minute")));
    sent.on("error", reject);
    sent.end(json === undefined ? undefined : JSON.stringify(json));
  });
}

/** Every fourth submits a script, and every second of those waits for its result; some still run when a server is told to stop. */
async function send(n: number): Promise<void> {
  const known = ids.get(n - 4 - (n % 4));
  const second = new Date().toISOString().slice(11, 19);
  const startedMs = performance.now();
  try {
    const agent = n % 2 === 0 ? kept : false;
    if (n % 4 === 0) await submit(n, n % 8 === 0 ? kept : false);
    else {
      const { status } = await ask("GET", known === undefined ? "/processes" : `/processes/${known}`, agent);
      if (status !== 200) failures.push(`${second} GET ${status}`);
    }
  } catch (error) {
    failures.push(`${second} ${(error as NodeJS.ErrnoException).code ?? error}`);
  }
  timesMs.push(performance.now() - startedMs);
}

async function submit(n: number, agent: Agent | false): Promise<void> {
  const waitMs = [0, 100, 1500][n % 3];
  const code = `await new Promise((resolve) => setTimeout(resolve, ${waitMs})); return ${n};`;
  const block = n % 8 === 0;
  const { status, text } = await ask("POST", "/processes", agent, { code, block });
  const body = JSON.parse(text);
  if (body.id !== undefined) ids.set(n, body.id);
  if (status !== 201 || (block && body.result !== n))
    failures.push(`POST ${status} ${body.code ?? body.state} ${body.error ?? body.reason}`);
}

rmSync(STOP, { force: true });
const startedMs = performance.now();
const pending: Promise<void>[] = [];
while (!existsSync(STOP)) {
  pending.push(send(pending.length));
  await sleep(Math.max(0, startedMs + (pending.length * 1000) / PER_SECOND - performance.now()));
}
await Promise.all(pending);

const lost: string[] = [];
for (const [n, id] of ids) {
  const record = await ask("GET", `/processes/${id}?wait=60000`, kept).then(
    ({ text }) => JSON.parse(text),
    (error) => ({ state: String(error) }),
  );
  if (record.exitState !== "success" || record.result !== n)
    lost.push(`${id}: ${record.state} ${record.reason}`);
}
timesMs.sort((a, b) => a - b);
const at = (part: number) => Math.round(timesMs[Math.floor((timesMs.length - 1) * part)] ?? 0);
const report: LoadReport = {
  requests: pending.length,
  runs: ids.size,
  failures,
  lost,
  p50: at(0.5),
  p95: at(0.95),
  max: at(1),
};
console.log(JSON.stringify(report));
kept.destroy();
