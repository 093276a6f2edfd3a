/** Entry of every job thread: loads the program at the given address and reports when it is ready. */
import { parentPort, workerData } from "node:worker_threads";

await import(String(workerData));
parentPort?.postMessage("ready");
