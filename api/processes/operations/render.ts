/**
 * Renders processes and calls as the JSON text clients get. Output, results and previews are already JSON text and
 * are inserted without being parsed or serialized again.
 */

import type { Usage } from "#sdk";
import type { LiveRun } from "../live/run.ts";
import type { TrailCall } from "../model/calls.ts";
import type {
  ProcessRow,
  ProcessView,
  QueuePlace,
  StoredResults,
  Submitted,
  SummaryResults,
} from "../model/records.ts";
import { processSummarySchema } from "../model/schemas.ts";
import { toJsonList } from "../store/changes.ts";
import { resultsOf } from "../store/reads.ts";

/** Record fields in the API, except those that are already JSON text. */
const SHOWN = Object.keys(processSummarySchema.shape).filter(
  (name) => name !== "output" && name !== "result" && name !== "warnings",
);
const NO_USAGE: Usage = { queuedMs: 0, startMs: 0, wallMs: 0, cpuMs: 0, peakMemoryBytes: 0, toolCalls: 0 };

/** Returns the current view of a run. Its streams are views, valid until the next event of the run. */
export function viewLiveRun(live: LiveRun): ProcessView {
  const { truncated, ...results } = live.results.read();
  const { packages } = live.results;
  const { artifacts } = live.files;
  const isStored = live.phase === "stored";
  return {
    row: live.row,
    ...live.submitted,
    results: {
      ...results,
      stdoutTruncated: truncated.stdout,
      stderrTruncated: truncated.stderr,
      result: live.results.result,
      errorDetail: isStored ? (live.ending?.error ?? null) : null,
      artifacts: isStored && artifacts.length > 0 ? JSON.stringify(artifacts) : null,
      packages: packages.length > 0 ? JSON.stringify(packages) : null,
      warnings: toJsonList(live.warnings),
    },
  };
}

export function viewStored(
  row: ProcessRow & Submitted & { [K in keyof StoredResults]: StoredResults[K] | null },
): ProcessView {
  const { code, input, inputSchema, files, name } = row;
  return { row, code, input, inputSchema, files, name, results: resultsOf(row) };
}

export function renderSummary(row: ProcessRow, results: SummaryResults, queue?: QueuePlace): string {
  const { head, tail } = commonParts(row, results, queue);
  return `${head}${tail}`;
}

export function renderRecord(view: ProcessView): string {
  const { row, code, input, inputSchema, files, name, results, queue } = view;
  const { head, tail } = commonParts(row, results, queue);
  const stdout = JSON.stringify(results.stdout.toString("utf8"));
  const stderr = JSON.stringify(results.stderr.toString("utf8"));
  // Servers of an earlier version omit these.
  const given = `"input":${input ?? "null"},"inputSchema":${inputSchema ?? "null"},"files":${files ?? "[]"},"name":${JSON.stringify(name ?? null)}`;
  const left = `"stdout":${stdout},"stderr":${stderr},"artifacts":${results.artifacts ?? "[]"},"packages":${results.packages ?? "[]"}`;
  return `${head},"code":${JSON.stringify(code)},${given},${left}${tail}`;
}

function commonParts(
  row: ProcessRow,
  results: SummaryResults,
  queue: QueuePlace | undefined,
): { head: string; tail: string } {
  const fields: Record<string, unknown> = {
    ...row,
    ref: row.ref ?? undefined,
    queue: row.state === "queued" ? queue : undefined,
    error: results.errorDetail?.message ?? null,
    errorDetail: results.errorDetail,
    options: { timeoutMs: row.timeoutMs, memoryMb: row.memoryMb, cpuMs: row.cpuMs },
    truncated: { stdout: results.stdoutTruncated, stderr: results.stderrTruncated },
    usage: row.usage ?? NO_USAGE,
  };
  const shown: Record<string, unknown> = {};
  for (const name of SHOWN) shown[name] = fields[name];
  return {
    head: JSON.stringify(shown).slice(0, -1),
    tail: `,"output":${results.output},"result":${results.result ?? "null"},"warnings":${results.warnings ?? "[]"}}`,
  };
}

export function renderList(items: readonly string[], nextCursor: string | null): string {
  return `{"processes":[${items.join(",")}],"nextCursor":${JSON.stringify(nextCursor)}}`;
}

export function renderCall(call: TrailCall): string {
  const head = JSON.stringify({
    seq: call.seq,
    serviceId: call.serviceId,
    toolId: call.toolId,
    startedAt: call.startedAt,
    durationMs: call.durationMs,
    waitedMs: call.waitedMs ?? 0,
    status: call.status,
    ...(call.error === null ? {} : { error: call.error }),
    ...(call.httpStatus == null ? {} : { httpStatus: call.httpStatus }),
    parametersBytes: call.parametersBytes,
    resultBytes: call.resultBytes,
  }).slice(0, -1);
  const parameters = call.parameters === null ? "" : `,"parameters":${call.parameters}`;
  const result = call.result === null ? "" : `,"result":${call.result}`;
  return `${head}${parameters}${result}}`;
}

export function renderCalls(calls: readonly TrailCall[]): string {
  return `{"calls":[${calls.map(renderCall).join(",")}]}`;
}
