/**
 * Watches the slots' runs for CPU time and memory. Most runs are over in a millisecond, so reading /proc begins only
 * when one has lasted a moment; what it used before then counts as CPU time in full.
 */
import type { Monitor } from "#runner/process/monitor.ts";

const FIRST_LOOK_MS = 15;
/** A monitor whose watches start late. What `finish` answers for a run it never looked at is zero. */
export function createLateMonitor(monitor: Monitor): Monitor {
  return {
    isSupported: monitor.isSupported,
    watch(pid, limits, onLimit) {
      let watch: ReturnType<Monitor["watch"]> | null = null;
      const timer = setTimeout(() => {
        const cpuMs = limits.cpuMs === null ? null : Math.max(0, limits.cpuMs - FIRST_LOOK_MS);
        watch = monitor.watch(pid, { ...limits, cpuMs }, onLimit);
      }, FIRST_LOOK_MS);
      return {
        finish() {
          clearTimeout(timer);
          return watch?.finish() ?? { cpuMs: 0, peakMemoryBytes: 0 };
        },
      };
    },
    [Symbol.dispose]: () => monitor[Symbol.dispose](),
  };
}
