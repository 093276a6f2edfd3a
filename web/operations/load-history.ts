/** Slots, queue and warm pool over the last minutes in which the system view was open; kept while others are shown. */
import { signal } from "@preact/signals";
import type { EnvironmentReport } from "../server/api.ts";

export interface LoadSample {
  /** When it was taken, by the clock of the page, in ms. */
  at: number;
  busy: number;
  queued: number;
  warm: number;
}

/** What is shown. */
export const HISTORY_MS = 120_000;
const MAX_SAMPLES = 240;
export const loadHistory = signal<readonly LoadSample[]>([]);

export function noteLoad({ capacity }: EnvironmentReport): void {
  const { busy, queued, warm } = capacity;
  const at = Date.now();
  const recent = loadHistory.value.filter((sample) => at - sample.at <= HISTORY_MS);
  loadHistory.value = [...recent, { at, busy, queued, warm }].slice(-MAX_SAMPLES);
}
