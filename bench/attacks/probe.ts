/** Preloaded into the attacked server: at SIGUSR2 it writes the delays of its event loop to the file ATTACKS_PROBE. */
import { renameSync, writeFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { isMainThread } from "node:worker_threads";

const file = process.env.ATTACKS_PROBE;
if (isMainThread && file !== undefined) {
  const resolution = 5;
  const delays = monitorEventLoopDelay({ resolution });
  delays.enable();
  process.on("SIGUSR2", () => {
    // Each sample includes the interval between two samples.
    const ms = [50, 99, 100].map((percentile) =>
      Math.max(0, delays.percentile(percentile) / 1e6 - resolution),
    );
    writeFileSync(`${file}.new`, JSON.stringify(ms));
    renameSync(`${file}.new`, file);
    delays.reset();
  });
}
