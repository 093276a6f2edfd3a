/**
 * A thread that does one job at a time, each within a time limit. A job that exceeds it ends the thread, and the next
 * job gets a new one. The thread starts with its first job, ends when idle, and never keeps the process alive.
 * (piscina 5.3 and tinypool 2.2 never start a job that waits behind an aborted one, and count its time from
 * submission.)
 */
import { type Transferable, Worker } from "node:worker_threads";

export interface JobThreadLimits {
  maxHeapMb: number;
  /** Heap size for new objects. A small one trades speed for a lower memory peak. */
  maxYoungHeapMb?: number;
  idleMs: number;
  /** Maximum number of waiting jobs. If absent, the caller submits one at a time. */
  maxWaiting?: number;
}

export type JobEnd<Answer> =
  | { kind: "answered"; answer: Answer }
  /** `busy`: too many jobs are waiting. `memory`: the job exceeded its heap. `failed`: the thread crashed. */
  | { kind: "busy" | "memory" | "failed" | "stopped"; message: string }
  | { kind: "timeout"; message: string; maxMs: number };

export interface JobOptions {
  transfer?: Transferable[];
  /** Ends the thread before returning, to free the memory of a large job. */
  endsThread?: boolean;
}

export interface JobThread<Job, Answer> extends AsyncDisposable {
  /** Runs jobs in order; `maxMs` counts from the job's turn. Rejects only if a job cannot be sent. */
  run(job: Job, maxMs: number, options?: JobOptions): Promise<JobEnd<Answer>>;
}

interface Running<Answer> {
  worker: Worker;
  settle: (end: JobEnd<Answer>) => void;
  hasStarted: Promise<void>;
}

function startWorker<Answer>(entry: URL, limits: JobThreadLimits, onEnd: () => void): Running<Answer> {
  const worker = new Worker(new URL("./job-thread-entry.ts", import.meta.url), {
    workerData: entry.href,
    env: {},
    execArgv: ["--no-warnings"],
    resourceLimits: {
      maxOldGenerationSizeMb: limits.maxHeapMb,
      ...(limits.maxYoungHeapMb === undefined ? {} : { maxYoungGenerationSizeMb: limits.maxYoungHeapMb }),
    },
  });
  // Loading the entry's imports can take longer than a job and does not count towards the job's time.
  const hasStarted = new Promise<void>((resolve) => {
    worker.once("message", () => resolve());
    worker.once("exit", () => resolve());
  });
  const started: Running<Answer> = { worker, settle: () => {}, hasStarted };
  const fail = (end: JobEnd<Answer>) => {
    onEnd();
    started.settle(end);
  };
  void hasStarted.then(() =>
    worker.on("message", (answer: Answer) => started.settle({ kind: "answered", answer })),
  );
  worker.on("error", (error: Error & { code?: string }) =>
    fail(
      error.code === "ERR_WORKER_OUT_OF_MEMORY"
        ? { kind: "memory", message: `it takes more than ${limits.maxHeapMb} MiB of memory` }
        : { kind: "failed", message: error instanceof Error ? error.message : String(error) },
    ),
  );
  worker.on("exit", () => fail({ kind: "failed", message: "its thread has ended" }));
  return started;
}

export function createJobThread<Job, Answer>(entry: URL, limits: JobThreadLimits): JobThread<Job, Answer> {
  let running: Running<Answer> | null = null;
  let idleTimer: NodeJS.Timeout | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  let stops = 0;

  function start(): Running<Answer> {
    const started = startWorker<Answer>(entry, limits, () => {
      if (running === started) running = null;
    });
    return started;
  }

  async function end(): Promise<void> {
    clearTimeout(idleTimer);
    const ended = running;
    running = null;
    await ended?.worker.terminate();
  }

  async function runNow(job: Job, maxMs: number, options: JobOptions): Promise<JobEnd<Answer>> {
    clearTimeout(idleTimer);
    running ??= start();
    const thread = running;
    const { promise, resolve } = Promise.withResolvers<JobEnd<Answer>>();
    thread.settle = resolve;
    thread.worker.ref();
    await thread.hasStarted;
    const deadline = setTimeout(() => {
      if (running === thread) running = null;
      void thread.worker.terminate();
      resolve({ kind: "timeout", message: `it takes longer than ${maxMs} ms`, maxMs });
    }, maxMs);
    try {
      thread.worker.postMessage(job, options.transfer);
      return await promise;
    } finally {
      clearTimeout(deadline);
      thread.settle = () => {};
      thread.worker.unref();
      if (options.endsThread) await end();
      else idleTimer = setTimeout(() => void end(), limits.idleMs).unref();
    }
  }

  return {
    async run(job, maxMs, options = {}) {
      if (waiting >= (limits.maxWaiting ?? Number.POSITIVE_INFINITY)) {
        return { kind: "busy", message: `${waiting} others are already waiting` };
      }
      waiting += 1;
      const stopsBefore = stops;
      const turn = last.then(() =>
        stops === stopsBefore
          ? runNow(job, maxMs, options)
          : { kind: "stopped" as const, message: "its owner is stopping" },
      );
      // Drops the result, which may be large.
      last = turn.then(
        () => {},
        () => {},
      );
      try {
        return await turn;
      } finally {
        waiting -= 1;
      }
    },
    async [Symbol.asyncDispose]() {
      stops += 1;
      await end();
    },
  };
}
