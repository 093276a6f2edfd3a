/**
 * TypeScript declarations for a tool's input and output, cached by the hash of their bounded schemas. The work is done
 * in one thread, one schema pair at a time, started when needed and ended when idle. Never rejects: what cannot be
 * written in time is declared as `unknown`, with a comment that says so.
 */
import { createHash } from "node:crypto";
import { Worker } from "node:worker_threads";
import { KEY_ALIAS, makePlainSchema, type PlainSchema } from "./plain-schema.ts";
import type { SignatureAnswer, SignatureJob } from "./signature-worker.ts";

const SIGNATURE_LIMITS = {
  maxCached: 500,
  maxWaiting: 200,
  maxWriteMs: 10_000,
  maxFailureAgeMs: 60_000,
  maxTextChars: 200_000,
  maxThreadHeapMb: 192,
  idleThreadMs: 30_000,
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
let thread: Thread | null = null;
let idleTimer: NodeJS.Timeout | undefined;

interface Thread {
  worker: Worker;
  onAnswer: (answer: SignatureAnswer) => void;
  onEnd: (reason: string) => void;
}

/** Declarations of `Input` and `Output`, without `export`. */
export async function writeSignature(inputSchema: unknown, outputSchema: unknown): Promise<string> {
  const usedNames = new Set(RESERVED_NAMES);
  const input = makePlainSchema(inputSchema, { usedNames, aliasPrefix: "inKey" });
  const output = makePlainSchema(outputSchema, { usedNames, aliasPrefix: "outKey" });
  const roots = { Input: asParameters(input.schema), Output: output.schema };
  const text = await writeCached(JSON.stringify(roots), { roots });
  return restoreKeys(text, new Map([...input.keyAliases, ...output.keyAliases]));
}

/** Parameters are an object whatever a schema leaves out. */
function asParameters(schema: PlainSchema): PlainSchema {
  return schema.type === "any" ? { ...schema, type: "object", additionalProperties: true } : schema;
}

function restoreKeys(text: string, aliases: Map<string, string>): string {
  if (aliases.size === 0) return text;
  return text.replaceAll(KEY_ALIAS, (alias) => {
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
  const { promise, resolve } = Promise.withResolvers<SignatureAnswer>();
  const current = takeThread();
  const deadline = setTimeout(() => fail("it took too long"), SIGNATURE_LIMITS.maxWriteMs);
  const fail = (reason: string) => {
    endThread(current);
    resolve({ failed: reason });
  };
  current.onAnswer = resolve;
  current.onEnd = fail;
  current.worker.postMessage(job);
  return promise.finally(() => {
    clearTimeout(deadline);
    current.onAnswer = ignore;
    current.onEnd = ignore;
    restThread(current);
  });
}

function takeThread(): Thread {
  clearTimeout(idleTimer);
  thread ??= startThread();
  thread.worker.ref();
  return thread;
}

function startThread(): Thread {
  const worker = new Worker(new URL("./signature-worker.ts", import.meta.url), {
    env: {},
    execArgv: ["--no-warnings"],
    resourceLimits: { maxOldGenerationSizeMb: SIGNATURE_LIMITS.maxThreadHeapMb },
  });
  const started: Thread = { worker, onAnswer: ignore, onEnd: ignore };
  worker.on("message", (answer: SignatureAnswer) => started.onAnswer(answer));
  worker.on("error", (error) => started.onEnd(String(error)));
  worker.on("exit", () => {
    if (thread === started) thread = null;
    started.onEnd("the thread ended");
  });
  return started;
}

/** An idle thread keeps neither the process alive nor its memory for long. */
function restThread(rested: Thread): void {
  if (thread !== rested) return;
  rested.worker.unref();
  idleTimer = setTimeout(() => endThread(rested), SIGNATURE_LIMITS.idleThreadMs);
  idleTimer.unref();
}

function endThread(ended: Thread): void {
  if (thread === ended) thread = null;
  void ended.worker.terminate();
}

function ignore(): void {}
