/** Limits how long to wait for modules, which are foreign code and may never respond. */

export class DeadlineExceeded extends Error {
  override readonly name = "DeadlineExceeded";
}

/** Settles like the promise, or rejects with DeadlineExceeded after `maxMs`. A later rejection is then ignored. */
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
