/** Slots, queue and warm pool over the last minutes in which the system view was open; kept while others are shown. */
import { signal } from "@preact/signals";
import type { EnvironmentReport } from "../server/api.ts";

export interface LoadSample {
  busy: number;
  queued: number;
  warm: number;
}

export const MAX_SAMPLES = 120;
export const loadHistory = signal<readonly LoadSample[]>([]);

export function noteLoad({ capacity }: EnvironmentReport): void {
  const { busy, queued, warm } = capacity;
  loadHistory.value = [...loadHistory.value, { busy, queued, warm }].slice(-MAX_SAMPLES);
}
