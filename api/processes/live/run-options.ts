/** What a run in memory is made from. */
import type { Redactor } from "#api/secrets/redactor.ts";
import type { ProcessRow } from "../store.ts";
import type { Ending } from "./ending.ts";

export interface RunLimits {
  maxStdoutBytes: number;
  maxStderrBytes: number;
  maxOutputBytes: number;
  maxResultBytes: number;
}

export interface LiveRunOptions {
  /** The row as it was claimed. */
  row: ProcessRow;
  claim: string;
  environment: string;
  code: string;
  /** The memory limit in force. */
  memoryMb: number | null;
  limits: RunLimits;
  /** Takes secrets out of whatever the run reports, before it is kept. */
  redactor: Redactor;
  /** Called after every change that a reader could see. */
  onChange: (change: "state" | "data") => void;
  /** Called once when the host decided that the run must end now, and how. */
  onDecided: (ending: Ending) => void;
}
