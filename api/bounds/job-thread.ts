/**
 * A thread that does one job at a time, each within a time limit, after which the thread is ended and the next job gets
 * a new one. Started at its first job, ended when idle. Never keeps the process alive by itself.
 */
import { Worker } from "node:worker_threads";

export interface JobThreadLimits {
  maxHeapMb: number;
  idleMs: number;
}

export type JobEnd<Answer> =
  | { kind: "answered"; answer: Answer }
  /** The thread ended: by a fault, or because the job needed more memory than it may have. */
  | { kind: "failed"; message: string }
  | { kind: "timeout"; maxMs: number };

export interface JobThread<Job, Answer> extends AsyncDisposable {
  /** One at a time: the next job may be given only when this one has ended. Never rejects. */
  run(job: Job, maxMs: number): Promise<JobEnd<Answer>>;
}

interface Running<Answer> {
  worker: Worker;
  settle: (end: JobEnd<Answer>) => void;
  hasStarted: Promise<void>;
}

export function createJobThread<Job, Answer>(entry: URL, limits: JobThreadLimits): JobThread<Job, Answer> {
  let running: Running<Answer> | null = null;
  let idleTimer: NodeJS.Timeout | undefined;

  function start(): Running<Answer> {
    const worker = new Worker(entry, {
      env: {},
      execArgv: ["--no-warnings"],
      resourceLimits: { maxOldGenerationSizeMb: limits.maxHeapMb },
    });
    const hasStarted = new Promise<void>((resolve) => {
      worker.once("online", () => resolve());
      worker.once("exit", () => resolve());
    });
    const started: Running<Answer> = { worker, settle: () => {}, hasStarted };
    worker.on("message", (answer: Answer) => started.settle({ kind: "answered", answer }));
    worker.on("error", (error) => fail(started, error instanceof Error ? error.message : String(error)));
    worker.on("exit", () => fail(started, "The thread has ended."));
    return started;
  }

  function fail(thread: Running<Answer>, message: string): void {
    if (running === thread) running = null;
    thread.settle({ kind: "failed", message });
  }

  async function end(): Promise<void> {
    clearTimeout(idleTimer);
    const ended = running;
    running = null;
    await ended?.worker.terminate();
  }

  return {
    async run(job, maxMs) {
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
        resolve({ kind: "timeout", maxMs });
      }, maxMs);
      thread.worker.postMessage(job);
      try {
        return await promise;
      } finally {
        clearTimeout(deadline);
        thread.settle = () => {};
        thread.worker.unref();
        idleTimer = setTimeout(() => void end(), limits.idleMs);
        idleTimer.unref();
      }
    },
    [Symbol.asyncDispose]: end,
  };
}
