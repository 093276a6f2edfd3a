/** `worker_threads` for packages: a single thread. */
export const isMainThread = true;
export const parentPort = null;
export const workerData = null;
export const threadId = 0;
export class Worker {
  constructor() {
    throw new Error("Worker is not available: a script has one thread.");
  }
}
const { MessageChannel: Channel } = globalThis;

export { Channel as MessageChannel };
