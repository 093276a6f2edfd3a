/**
 * TypeScript declarations for a tool's input and output, cached by the hash of their bounded schemas. The work is done
 * in one thread, one schema pair at a time, started when needed and ended when idle. Never rejects: what cannot be
 * written in time is declared as `unknown`, with a comment that says so.
 */
import { createHash } from "node:crypto";
import { Worker } from "node:worker_threads";
import { makePlainSchema, type PlainSchema } from "./plain-schema.ts";
import type { SignatureAnswer, SignatureJob } from "./signature-worker.ts";

const SIGNATURE_LIMITS = {
  maxCached: 500,
  maxWaiting: 200,
  maxWriteMs: 10_000,
  maxFailureAgeMs: 60_000,
  maxTextChars: 200_000,
  maxWorkerHeapMb: 192,
  idleWorkerMs: 30_000,
} as const;

/** Names that generated declarations must leave alone. */
const RESERVED_NAMES = [
  "Input",
  "Output",
  "Array",
  "Object",
  "Promise",
  "Record",
  "String",
  "Number",
  "Boolean",
  "Function",
  "Symbol",
];

const cache = new Map<string, Promise<string>>();
let waiting = 0;
let lastJob: Promise<unknown> = Promise.resolve();
let worker: Worker | null = null;
let idleTimer: NodeJS.Timeout | undefined;

/** Declarations of `Input` and `Output`, without `export`. */
export async function writeSignature(inputSchema: unknown, outputSchema: unknown): Promise<string> {
  const usedNames = new Set(RESERVED_NAMES);
  const input = makePlainSchema(inputSchema, { usedNames, aliasPrefix: "inKey" });
  const output = makePlainSchema(outputSchema, { usedNames, aliasPrefix: "outKey" });
  const roots = { Input: asParameters(input.schema), Output: output.schema };
  const text = await writeCached(JSON.stringify(roots), { roots });
  return restoreKeys(restoreKeys(text, input.keyAliases), output.keyAliases);
}

/** Parameters are an object whatever a schema leaves out. */
function asParameters(schema: PlainSchema): PlainSchema {
  return schema.type === "any" ? { ...schema, type: "object", additionalProperties: true } : schema;
}

function restoreKeys(text: string, aliases: Map<string, string>): string {
  if (aliases.size === 0) return text;
  return text.replaceAll(/\b(?:in|out)Key\d+_/g, (alias) => {
    const name = aliases.get(alias);
    return name === undefined ? alias : JSON.stringify(name).replaceAll("*/", "*\\/");
  });
}

async function writeCached(key: string, job: SignatureJob): Promise<string> {
  const hash = createHash("sha256").update(key).digest("base64");
  const known = cache.get(hash);
  if (known !== undefined) {
    cache.delete(hash);
    cache.set(hash, known);
    return known;
  }
  if (waiting >= SIGNATURE_LIMITS.maxWaiting) return FALLBACK;
  const written = writeInTurn(job).then((answer) => {
    if ("text" in answer && answer.text.length <= SIGNATURE_LIMITS.maxTextChars) return answer.text;
    setTimeout(() => cache.delete(hash), SIGNATURE_LIMITS.maxFailureAgeMs).unref();
    return FALLBACK;
  });
  cache.set(hash, written);
  for (const oldest of cache.keys()) {
    if (cache.size <= SIGNATURE_LIMITS.maxCached) break;
    cache.delete(oldest);
  }
  return written;
}

const FALLBACK = `/** The tool's schema is too unusual to be shown as a type: see \`cyrnel.getTool\` for the schema itself. */
type Input = Record<string, unknown>

type Output = unknown`;

function writeInTurn(job: SignatureJob): Promise<SignatureAnswer> {
  waiting += 1;
  const turn = lastJob.then(() => runJob(job));
  lastJob = turn;
  return turn.finally(() => {
    waiting -= 1;
  });
}

function runJob(job: SignatureJob): Promise<SignatureAnswer> {
  const thread = takeWorker();
  return new Promise((resolve) => {
    const finish = (answer: SignatureAnswer, keep: boolean) => {
      clearTimeout(deadline);
      thread.removeAllListeners();
      if (keep) keepWorker(thread);
      else endWorker(thread);
      resolve(answer);
    };
    const deadline = setTimeout(
      () => finish({ failed: "took too long" }, false),
      SIGNATURE_LIMITS.maxWriteMs,
    );
    thread.once("message", (answer: SignatureAnswer) => finish(answer, true));
    thread.once("error", (error) => finish({ failed: String(error) }, false));
    thread.once("exit", () => finish({ failed: "the thread ended" }, false));
    thread.postMessage(job);
  });
}

function takeWorker(): Worker {
  clearTimeout(idleTimer);
  worker ??= new Worker(new URL("./signature-worker.ts", import.meta.url), {
    env: {},
    execArgv: ["--no-warnings"],
    resourceLimits: { maxOldGenerationSizeMb: SIGNATURE_LIMITS.maxWorkerHeapMb },
  });
  worker.ref();
  return worker;
}

function keepWorker(thread: Worker): void {
  thread.on("error", () => endWorker(thread));
  thread.unref();
  idleTimer = setTimeout(() => endWorker(thread), SIGNATURE_LIMITS.idleWorkerMs);
  idleTimer.unref();
}

function endWorker(thread: Worker): void {
  if (worker === thread) worker = null;
  thread.removeAllListeners();
  thread.on("error", () => {});
  void thread.terminate();
}
