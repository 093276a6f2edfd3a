/**
 * Processes that parse sources. The server parses none itself, because a hostile source would block everything else.
 * A preparer does one job at a time within limits on wall time, heap and its transpiler's memory. A job that exceeds
 * a limit loses its preparer and affects no other run.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { RLIMIT_DATA } from "../jail/kernel/kernel-headers.ts";
import { openKernel } from "../jail/kernel/syscalls.ts";
import { DIST } from "../paths.ts";
import { findNodeBinary } from "../process/node-binary.ts";
import { endFirstWithoutMemory } from "../process/start-process.ts";
import { type Refused, sourceError } from "../source/errors.ts";
import type { LinkedSource } from "../source/modules/link.ts";
import type { Linkable, Node } from "../source/modules/linkable.ts";
import type { PreparedScript } from "../source/script.ts";
import type { Loader } from "../source/transpile.ts";

export type Job =
  | { kind: "script"; text: string }
  | { kind: "file"; loader: Loader; text: string }
  | { kind: "link"; nodes: Node[] };

export interface Answers {
  script: PreparedScript | Linkable;
  file: Linkable | Refused;
  link: LinkedSource;
}

/** A ready preparer sends `transpiler`, its transpiler's process id. `fault` reports an internal error. */
export type Message = { transpiler: number } | { answer: Answers[Job["kind"]] } | { fault: string };

/** The largest valid sources take a tenth of this. */
const MAX_JOB_MS = 5_000;
const MAX_PREPARERS = 4;
/** A job that waits this long starts another preparer. */
const GROW_AFTER_MS = 100;
/** Idle preparers beyond the first exit after this time. */
const IDLE_MS = 30_000;
const MAX_START_MS = 30_000;
const MAX_HEAP_MB = 512;
const MAX_TRANSPILER_BYTES = 512n * 1024n * 1024n;
/** A preparer that disappears without a visible reason may have been killed by the kernel or an operator. */
const MAX_ATTEMPTS = 2;
const TOO_MUCH = `The source takes longer than ${MAX_JOB_MS / 1000} s to be read, or too much memory: it is nested too deeply, or one of its statements has too many parts.`;

interface Preparer {
  child: ChildProcess;
  settle: (end: Message | "late" | "lost") => void;
}

interface Waiting {
  resolve(preparer: Preparer): void;
  reject(error: Error): void;
}

let count = 0;
let starting = 0;
const idle: Preparer[] = [];
const waiting: Waiting[] = [];

/** Rejects only for internal errors. */
export async function runJob<Kind extends Job["kind"]>(
  job: Extract<Job, { kind: Kind }>,
): Promise<Answers[Kind] | Refused> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const end = await give(job, idle.pop() ?? (await waitForOne()));
    if (end === "late") break;
    if (end === "lost") continue;
    if ("answer" in end) return end.answer as Answers[Kind];
    throw new Error(`A source could not be prepared: ${"fault" in end ? end.fault : ""}`);
  }
  return sourceError(TOO_MUCH, { line: 1, column: 1 });
}

async function give(job: Job, preparer: Preparer): Promise<Message | "late" | "lost"> {
  const { child } = preparer;
  const { promise, resolve } = Promise.withResolvers<Message | "late" | "lost">();
  preparer.settle = resolve;
  hold(child);
  child.send(job, (error) => error && resolve("lost"));
  const timer = setTimeout(() => resolve("late"), MAX_JOB_MS);
  const end = await promise;
  clearTimeout(timer);
  if (typeof end === "string") kill(child);
  else release(preparer);
  return end;
}

function waitForOne(): Promise<Preparer> {
  const { promise, resolve, reject } = Promise.withResolvers<Preparer>();
  const own = { resolve, reject };
  waiting.push(own);
  if (count === 0) start();
  const timer = setInterval(() => {
    // A preparer that is already starting will soon take the job.
    if (waiting.includes(own) && starting === 0 && count < MAX_PREPARERS) start();
  }, GROW_AFTER_MS);
  return promise.finally(() => clearInterval(timer));
}

function start(): void {
  count += 1;
  starting += 1;
  const flags = ["--no-warnings", `--max-old-space-size=${MAX_HEAP_MB}`];
  const child = spawn(findNodeBinary().path, [...flags, join(DIST, "preparer.mjs")], {
    cwd: "/",
    env: { GOMAXPROCS: "2", GOMEMLIMIT: "256MiB" },
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    serialization: "advanced",
    detached: true,
  });
  endFirstWithoutMemory(child.pid);
  const preparer: Preparer = { child, settle: () => {} };
  let isReady = false;
  const timer = setTimeout(() => kill(child), MAX_START_MS);
  child.on("message", (message: Message) => {
    if ("transpiler" in message) {
      isReady = true;
      starting -= 1;
      clearTimeout(timer);
      limit(message.transpiler);
      release(preparer);
    } else preparer.settle(message);
  });
  let isGone = false;
  const gone = (why: string) => {
    if (isGone) return;
    isGone = true;
    clearTimeout(timer);
    count -= 1;
    if (!isReady) starting -= 1;
    const at = idle.indexOf(preparer);
    if (at !== -1) idle.splice(at, 1);
    preparer.settle("lost");
    if (isReady && waiting.length > 0 && count < MAX_PREPARERS) start();
    if (isReady || count > 0) return;
    for (const { reject } of waiting.splice(0))
      reject(new Error(`The process that prepares sources ${why}.`));
  };
  child.once("error", (error) => gone(`cannot be started: ${error.message}`));
  child.once("exit", (code, signal) => gone(`ended before it was ready (${signal ?? `exit code ${code}`})`));
}

/**
 * Gives the preparer to the job that has waited longest, or adds it to the idle ones without keeping this program
 * alive.
 */
function release(preparer: Preparer): void {
  const next = waiting.shift();
  if (next !== undefined) {
    next.resolve(preparer);
    return;
  }
  const { child } = preparer;
  child.unref();
  child.channel?.unref();
  idle.push(preparer);
  if (idle.length > 1) setTimeout(() => idle.length > 1 && kill(idle.shift()?.child), IDLE_MS).unref();
}

function hold(child: ChildProcess): void {
  child.ref();
  child.channel?.ref();
}

function kill(child: ChildProcess | undefined): void {
  try {
    if (child?.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    // The process has already ended.
  }
}

function limit(transpiler: number): void {
  if (process.platform !== "linux") return;
  try {
    openKernel().prlimit(transpiler, RLIMIT_DATA, { soft: MAX_TRANSPILER_BYTES, hard: MAX_TRANSPILER_BYTES });
  } catch {
    // Without FFI in Node, which level development allows, only the time limit remains.
  }
}
