/** The way out of the log's lines, on real pipes: whoever reads them, or does not, the server goes on. */
import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openLogOutput } from "#api/observe/logs/output.ts";
import { makeDataDirectory, startMain } from "../harness/main-process.ts";

/** pipe(7) */
const PIPE_BYTES = 65_536;

let folder: string;
let pipe: { reader: number; writer: number };
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "cyrnel-output-"));
  const file = path.join(folder, "pipe");
  execFileSync("mkfifo", [file]);
  const reader = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  pipe = { reader, writer: openSync(file, constants.O_WRONLY | constants.O_NONBLOCK) };
});
afterEach(() => rmSync(folder, { recursive: true }));

function readAvailable(): string {
  const buffer = Buffer.alloc(1024 * 1024);
  try {
    return buffer.toString("utf8", 0, readSync(pipe.reader, buffer));
  } catch {
    return "";
  }
}

async function readUntil(text: { value: string }, isEnough: () => boolean): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!isEnough()) {
    if (Date.now() > deadline) throw new Error(`not enough was written: ${text.value.slice(-200)}`);
    text.value += readAvailable();
    await sleep(5);
  }
}

test("lines come out in order, and those that wait at the end as well", async () => {
  const output = openLogOutput(pipe.writer);
  for (let n = 0; n < 1000; n++) output.write(`${n}\n`);
  await output[Symbol.asyncDispose]();
  output.write("too late\n");
  expect(readAvailable()).toBe(Array.from({ length: 1000 }, (_, n) => `${n}\n`).join(""));
  closeSync(pipe.reader);
});

test("what a reader that hangs does not take waits; the latest are left out, which is said", async () => {
  const output = openLogOutput(pipe.writer);
  const line = `${"x".repeat(1023)}\n`;
  for (let n = 0; n < 6000; n++) output.write(line);
  const text = { value: "" };
  await readUntil(text, () => text.value.includes("were dropped"));
  const lines = text.value.trimEnd().split("\n");
  const note = JSON.parse(lines.find((one) => one.startsWith("{")) ?? "");
  expect(note).toMatchObject({ level: "warn", type: "log" });
  expect(lines.filter((one) => one.length === 1023)).toHaveLength(6000 - note.leftOut);
  expect(lines).toHaveLength(6000 - note.leftOut + 1);
  await output[Symbol.asyncDispose]();
  closeSync(pipe.reader);
});

test("a reader that is gone ends nothing", async () => {
  await using output = openLogOutput(pipe.writer);
  closeSync(pipe.reader);
  for (let n = 0; n < 10; n++) {
    output.write(`${n}\n`);
    await sleep(1);
  }
});

test("a full disk ends nothing, and does not hold up the end", async () => {
  for (const fd of Object.values(pipe)) closeSync(fd);
  await using output = openLogOutput(openSync("/dev/full", "w"));
  for (let n = 0; n < 10; n++) {
    output.write(`${n}\n`);
    await sleep(1);
  }
});

test("a server whose output nobody takes goes on answering", async () => {
  await using data = await makeDataDirectory();
  const environment = { CYRNEL_DATA_DIR: data.path, LOG_LEVEL: "debug" };
  const main = startMain({ environment, stdout: pipe.writer });
  closeSync(pipe.writer);
  const url = await main.listening();
  // Each request is a line; together they are more than a pipe holds.
  const ask = async () => {
    const answer = await fetch(`${url}/health`, { signal: AbortSignal.timeout(10_000) });
    await answer.arrayBuffer();
  };
  for (let n = 0; n < 100; n++) await Promise.all(Array.from({ length: 10 }, ask));
  const text = { value: "" };
  main.child.kill("SIGTERM");
  const ended = main.ended();
  await readUntil(text, () => text.value.split("/health").length > 1000);
  expect(await ended).toBe(0);
  expect(text.value.length).toBeGreaterThan(2 * PIPE_BYTES);
  closeSync(pipe.reader);
});
