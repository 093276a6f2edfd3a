/** Bounds waits: a module is foreign code, and one that never answers must not hold up the server. */

export class DeadlineExceeded extends Error {
  override readonly name = "DeadlineExceeded";
}

/** The promise's outcome, or DeadlineExceeded after `maxMs`. A later rejection of the promise is ignored. */
export async function waitAtMost<T>(promise: Promise<T>, maxMs: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new DeadlineExceeded(`${what} did not finish within ${maxMs} ms.`)),
      maxMs,
    );
  });
  promise.catch(() => {});
  try {
    return await Promise.race([promise, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
