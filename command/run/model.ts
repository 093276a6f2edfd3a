/** What `cyrnel run` asks of whatever runs the script. */
import type { RunReport } from "./report.ts";

export interface RunLimits {
  ref?: string;
  /** Null: none. */
  timeoutMs?: number | null;
  memoryMb?: number;
  cpuMs?: number;
}

/** Runs a script to its end, however it ends. Rejects where it could not be run. */
export type RunScript = (code: string, limits: RunLimits) => Promise<RunReport>;
