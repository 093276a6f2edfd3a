/** Entry of every job thread: loads the program that does its jobs, whose address it is given, and says when it can take one. */
import { parentPort, workerData } from "node:worker_threads";

await import(String(workerData));
parentPort?.postMessage("ready");
