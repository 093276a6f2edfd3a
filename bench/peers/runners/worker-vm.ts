/** A context of `node:vm` in a worker per run: an empty environment, limits of memory and time, no code from strings. */
import { Worker } from "node:worker_threads";
import type { OpenRunner } from "../runner.ts";

const IN_WORKER = `
  const vm = require("node:vm");
  const { parentPort, workerData } = require("node:worker_threads");
  const context = vm.createContext({ console }, { codeGeneration: { strings: false, wasm: false } });
  vm.runInContext("(async () => {\\n" + workerData + "\\n})().then((value) => JSON.stringify(value ?? null))", context)
    .then((text) => parentPort.postMessage(text));`;

export const open: OpenRunner = async () => ({
  async run(body, { timeoutMs, memoryMb }) {
    const worker = new Worker(IN_WORKER, {
      eval: true,
      env: {},
      stdout: true,
      stderr: true,
      workerData: body,
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    });
    worker.stdout.resume();
    worker.stderr.resume();
    const timer = setTimeout(() => worker.terminate(), timeoutMs);
    try {
      return await new Promise((resolve, reject) => {
        worker.once("message", (text) => resolve(JSON.parse(String(text))));
        worker.once("error", reject);
        worker.once("exit", () => reject(new Error("it ended without a result")));
      });
    } finally {
      clearTimeout(timer);
      await worker.terminate();
    }
  },
  async [Symbol.asyncDispose]() {},
});
