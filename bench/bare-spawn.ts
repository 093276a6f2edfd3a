/** The yardstick: starts `node -e 0` with the same binary. */
import { spawn } from "node:child_process";
import { once } from "node:events";

/** Wall milliseconds from spawn to exit of one bare Node. */
export async function spawnBare(): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, ["-e", "0"], { stdio: "ignore", env: { TZ: "UTC" } });
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`node -e 0 ended with exit code ${code}`);
  return performance.now() - startedAt;
}

/** Repeats `task` in `parallel` loops for `durationMs`; returns completed tasks per second. */
export async function measureRate(
  task: () => Promise<unknown>,
  parallel: number,
  durationMs: number,
): Promise<number> {
  const startedAt = performance.now();
  let completed = 0;
  async function loop() {
    while (performance.now() - startedAt < durationMs) {
      await task();
      completed += 1;
    }
  }
  await Promise.all(Array.from({ length: parallel }, loop));
  return (completed * 1000) / (performance.now() - startedAt);
}
