/** Converts a process for sending between replicas: JSON, with streams in base64. */

import type { TrailCall } from "#api/processes/model/calls.ts";
import type { ProcessView } from "#api/processes/model/records.ts";

const ROW_DATES = ["createdAt", "queuedAt", "startedAt", "completedAt"] as const;

export function writeView(view: ProcessView): string {
  const { stdout, stderr, ...results } = view.results;
  const streams = { stdout: stdout.toString("base64"), stderr: stderr.toString("base64") };
  return JSON.stringify({ ...view, results: { ...results, ...streams } });
}

export function readView(text: string): ProcessView {
  const view = JSON.parse(text);
  for (const name of ROW_DATES) if (view.row[name] !== null) view.row[name] = new Date(view.row[name]);
  for (const stream of ["stdout", "stderr"])
    view.results[stream] = Buffer.from(view.results[stream], "base64");
  return view as ProcessView;
}

export function readCalls(text: string): TrailCall[] {
  const calls = JSON.parse(text) as TrailCall[];
  return calls.map((call) => ({ ...call, startedAt: new Date(call.startedAt) }));
}
