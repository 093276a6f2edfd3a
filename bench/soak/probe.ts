/**
 * Loaded into the server of a soak before its own program: at SIGUSR2 it collects all garbage and writes to the file that
 * SOAK_PROBE names what is still in use. Without, memory is mostly what has not been collected yet: what was resident before
 * is told beside it.
 */
import { renameSync, writeFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { isMainThread } from "node:worker_threads";

const file = process.env.SOAK_PROBE;
if (isMainThread && file !== undefined) {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  process.on("SIGUSR2", () => {
    const before = process.memoryUsage();
    collect();
    collect();
    const { heapUsed, heapTotal, external, rss } = process.memoryUsage();
    writeFileSync(
      `${file}.new`,
      JSON.stringify({ heapUsed, heapTotal, external, rss, rssBefore: before.rss }),
    );
    renameSync(`${file}.new`, file);
  });
}
