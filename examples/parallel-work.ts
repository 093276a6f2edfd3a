// Work in parallel: three workers take jobs from one queue, the first failure aborts the rest.
// Also shows another form a script may have: one exported function.
// Expected: success after about 0.2 s, not after the 0.6 s that one job at a time would take; job 13 is the one that
// fails in the second round, and the jobs behind it are never started.

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

/** Runs `work` on every job, `width` at a time. The first failure aborts the signal and is thrown. */
async function mapParallel<T, R>(
  jobs: T[],
  width: number,
  work: (job: T, signal: AbortSignal) => Promise<R>,
): Promise<R[]> {
  const controller = new AbortController();
  const queue = jobs.entries();
  const results: R[] = [];
  async function takeJobs(): Promise<void> {
    for (const [index, job] of queue) {
      controller.signal.throwIfAborted();
      results[index] = await work(job, controller.signal);
    }
  }
  try {
    await Promise.all(Array.from({ length: width }, takeJobs));
  } catch (error) {
    controller.abort(error);
    throw error;
  }
  return results;
}

export default async function run() {
  const began = performance.now();
  const squares = await mapParallel([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], 3, async (job, signal) => {
    await pause(50, signal);
    return job * job;
  });
  const elapsedMs = Math.round(performance.now() - began);

  const started: number[] = [];
  let failure = "";
  try {
    await mapParallel([11, 12, 13, 14, 15, 16], 3, async (job, signal) => {
      started.push(job);
      await pause(job === 13 ? 10 : 200, signal);
      if (job === 13) throw new Error(`job ${job} failed`);
    });
  } catch (error) {
    failure = (error as Error).message;
  }

  return { squares, elapsedMs, started, failure };
}
